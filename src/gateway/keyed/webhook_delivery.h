#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <optional>
#include <string>

#include "execution/answer/reply.h"
#include "runtime/spool.h"

// An event on a webhook route: that its provider sent it, and which event it is.
namespace semel {

// The key of an event whose signature is good. Asks neither the store nor the upstream.
//
//   key = the event's id                           where the signature covers it
//       | "sha256:" 64 hex digits [":" kind]       of the body, where it does not, or there is none
//
// An id or a kind outside the signature decides nothing: whoever has seen one signed body could
// send it under ever new ones. Only kinds that the route lists are told apart.
boost::asio::awaitable<std::expected<std::string, Problem>> verify_delivery(
    const ClientRequest& request, const RouteConfig& route, const RequestBody& body);

// What is to be refused for its headers alone, before there is a body: a signature that is missing
// or malformed, a time out of tolerance. nullopt: nothing.
std::optional<Problem> check_delivery_head(const ClientRequest& request, const RouteConfig& route);

// What a provider is told of an event that is kept, or was long ago.
boost::asio::awaitable<void> acknowledge(ClientRequest& request, const RouteConfig& route,
                                         std::string_view key, bool is_known);

}  // namespace semel
