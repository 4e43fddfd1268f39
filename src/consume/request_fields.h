#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "consume/message.h"
#include "http/message.h"

namespace semel::consume {

// Returns the fields of the request to the message's handler at `host`: the message's type, its
// trace, CloudEvents' headers, and those that the entry names. Publishers may put anything into a
// header; leaves out what a request cannot hold.
std::vector<http::Field> handler_fields(const config::ConsumeConfig& config,
                                        const BrokerMessage& message, const std::string& host);

// Returns the message's traceparent, as the record keeps it; empty: it has none.
std::string trace_of(const BrokerMessage& message);

}  // namespace semel::consume
