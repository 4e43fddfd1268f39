#pragma once

#include <string>
#include <vector>

#include "brokers/amqp_library.h"
#include "semel/record.h"

// Between rabbitmq-c's values and ours. Pure functions.
namespace semel {

// A view: `text` must outlive it.
amqp_bytes_t bytes_of(const std::string& text);
std::string text_of(amqp_bytes_t bytes);

// Why a call failed, for the log.
std::string describe(const amqp_rpc_reply_t& reply);

// The publisher's headers that are texts, numbers or booleans, as text.
std::vector<Header> headers_in(const amqp_basic_properties_t& properties);

// The headers of `properties` as they are, with `added` in place of those of the same name. Refers
// to both.
std::vector<amqp_table_entry_t> with_headers(const amqp_basic_properties_t& properties,
                                             const std::vector<Header>& added);

}  // namespace semel
