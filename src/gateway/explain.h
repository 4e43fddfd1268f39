#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "http/message.h"
#include "runtime/key_material.h"
#include "semel/time.h"

namespace semel::gateway {

// A request to be explained, as a client would send it.
struct ExplainedRequest {
  http::Request message;
  std::string body;
  std::optional<std::string> tenant;  // assumed, whatever the request proves
  bool from_trusted_proxy = false;
};

// Puts together the head that a client would send, with headers "Name: value". Returns what is
// wrong with it, or nullopt.
std::optional<std::string> make_message(std::string_view method, std::string_view target,
                                        const std::vector<std::string>& headers,
                                        std::size_t body_bytes, http::Request& message);

// Returns what the gateway would make of the request: route, key, tenant, fingerprint, and either
// why it is refused or the rules that it is executed by.
boost::json::object explain_request(const ExplainedRequest& request, const config::Config& config,
                                    const runtime::KeyMaterial& keys, Time now);

}  // namespace semel::gateway
