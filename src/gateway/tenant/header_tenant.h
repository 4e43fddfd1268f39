#pragma once

#include <expected>
#include <string>

#include "config/tenant.h"
#include "http/message.h"

namespace semel::gateway {

// Returns the tenant, as proven by the request's head alone: for the sources none, authorization
// and header. The error is a sentence for the client.
//
// A credential that changes between retries would make a retry a new operation, that is, a second
// effect: such credentials are refused, not hashed.
std::expected<std::string, std::string> find_tenant(const config::TenantConfig& config,
                                                    const http::Request& request,
                                                    bool from_trusted_proxy);

}  // namespace semel::gateway
