#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <optional>
#include <string>

#include "execution/answer/reply.h"
#include "runtime/spool.h"

// Verifies that an event on a webhook route was sent by its provider, and finds out which event it
// is.
namespace semel::gateway {

// Returns the key of an event whose signature is good. Asks neither the store nor the upstream.
//
//   key = the event's id                           where the signature covers it
//       | "sha256:" 64 hex digits [":" kind]       of the body, where it does not, or there is none
//
// An id or a kind outside the signature decides nothing: anyone who has seen one signed body could
// send it again and again under new ones. Only kinds that the route lists are told apart.
boost::asio::awaitable<std::expected<std::string, core::Problem>> verify_delivery(
    const execution::ClientRequest& request, const config::RouteConfig& route,
    const runtime::RequestBody& body);

// Returns the reason to refuse a delivery for its headers alone, before there is a body: a
// signature that is missing or malformed, a time out of tolerance. nullopt: there is none.
std::optional<core::Problem> check_delivery_head(const execution::ClientRequest& request,
                                                 const config::RouteConfig& route);

// Answers a provider whose event is kept, or was long ago.
boost::asio::awaitable<void> acknowledge(execution::ClientRequest& request,
                                         const config::RouteConfig& route, std::string_view key,
                                         bool is_known);

}  // namespace semel::gateway
