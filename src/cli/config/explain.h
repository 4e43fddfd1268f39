#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "config/config.h"
#include "http/message.h"
#include "runtime/key_material.h"
#include "semel/time.h"

namespace semel::cli {

struct ExplainedRequest {
  http::Request message;
  std::string body;
  std::optional<std::string> tenant;  // assumed, whatever the request proves
  bool from_trusted_proxy = false;
};

// Returns what the gateway would make of the request: route, key, tenant, fingerprint, and either
// why it is refused or the rules that it is executed by.
boost::json::object explain_request(const ExplainedRequest& request, const config::Config& config,
                                    const runtime::KeyMaterial& keys, Time now);

}  // namespace semel::cli
