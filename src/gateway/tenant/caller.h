#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <optional>
#include <string>

#include "auth/jwk.h"
#include "config/tenant.h"
#include "core/problem.h"
#include "execution/answer/reply.h"

// Finds out who is asking, whatever the tenant's source is.
//
// Nothing may be looked up, recorded or sent on before the tenant is known: if that is broken, one
// caller gets another's answers.
namespace semel::gateway {

// The tenant, or the problem to tell the client: 401 if the tenant is not proven, 503 if that
// cannot be found out.
using Caller = std::expected<std::string, core::Problem>;

// nullopt: ask for the tenant with ask_caller(). Every source except introspect knows at once.
std::optional<Caller> find_caller(const execution::ClientRequest& request);
boost::asio::awaitable<Caller> ask_caller(execution::ClientRequest& request);

// Returns the tenant that the request's bearer token proves. The error is a sentence for the
// client.
std::expected<std::string, std::string> tenant_of_token(const auth::JwtKeys& keys,
                                                        const config::JwtConfig& config,
                                                        const http::Request& message, Time now);

}  // namespace semel::gateway
