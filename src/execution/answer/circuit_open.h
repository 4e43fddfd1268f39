#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <vector>

#include "execution/answer/reply.h"
#include "runtime/upstreams/circuit.h"

// A route whose circuit is open refuses what it would have to send on.
namespace semel::execution {

// The answer to a request that an open circuit refused. `new_key_safe`: nothing was ever executed
// under its key.
core::Problem circuit_open_problem(Duration retry_after, bool new_key_safe);

// Answers a request without a key if the route's circuit is open. True: it has been answered.
boost::asio::awaitable<bool> refuse_open_circuit(ClientRequest& request,
                                                 const runtime::Route& route);

// Takes a pass through the route's circuit, if it has one. nullopt: it is open, and the request has
// been answered.
boost::asio::awaitable<std::optional<runtime::Circuit::Pass>> pass_circuit(
    ClientRequest& request, const runtime::Route& route, bool new_key_safe,
    std::vector<Header> extra = {});

// Reports the status of the answer to a request that was let through; 0: there was none.
void report_to_circuit(const ClientRequest& request, const runtime::Route& route,
                       runtime::Circuit::Pass pass, int status);

}  // namespace semel::execution
