#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "consume/message.h"
#include "http/message.h"

namespace semel {

// What of a message becomes fields of the request to its handler at `host`: its type, its trace,
// CloudEvents' headers, and those that the entry names. Publishers may put anything into a header;
// what a request cannot hold is left out.
std::vector<net::Field> handler_fields(const ConsumeConfig& config, const Message& message,
                                       const std::string& host);

// Its traceparent, as the record keeps it; empty: it has none.
std::string trace_of(const Message& message);

}  // namespace semel
