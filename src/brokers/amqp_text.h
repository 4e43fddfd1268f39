#pragma once

#include <string>
#include <vector>

#include "brokers/amqp_library.h"
#include "semel/driver/record.h"

// Converts between rabbitmq-c's values and ours. Pure functions.
namespace semel::brokers {

// Returns a view: `text` must outlive it.
amqp_bytes_t bytes_of(const std::string& text);
std::string text_of(amqp_bytes_t bytes);

// Says why a call failed, for the log.
std::string describe(const amqp_rpc_reply_t& reply);

// Returns the publisher's headers that are texts, numbers or booleans, as text.
std::vector<Header> headers_in(const amqp_basic_properties_t& properties);

// Returns the headers of `properties` as they are, except that `added` replaces those with the same
// names. Refers to both.
std::vector<amqp_table_entry_t> with_headers(const amqp_basic_properties_t& properties,
                                             const std::vector<Header>& added);

}  // namespace semel::brokers
