#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "execution/answer/reply.h"
#include "semel/driver/engine.h"

// Answers that come from a record instead of from an execution.
namespace semel::execution {

// Returns the field that gives the key back to the client with every answer about it.
std::vector<Header> echo(std::string_view key);
// Also returns the time when the record expires.
std::vector<Header> echo(std::string_view key, const Record& record);

boost::asio::awaitable<void> send_replay(ClientRequest& request, const config::RouteConfig& route,
                                         std::string_view key, const Record& record);

// Sends the record's answer to the request that was executed for it: the executor completed the
// record.
boost::asio::awaitable<void> send_committed(ClientRequest& request,
                                            const config::RouteConfig& route, std::string_view key,
                                            const Record& record);

// Answers a client that waited for an execution: with the stored answer or, if nothing was stored,
// with the answer that the first client got.
boost::asio::awaitable<void> send_settled(ClientRequest& request, const config::RouteConfig& route,
                                          std::string_view key, const Settled& settled);

// Answers a client whose claim was taken over before it finished: with the record's answer, never
// with its own.
boost::asio::awaitable<void> send_record(ClientRequest& request, const runtime::Route& route,
                                         std::string_view key, const RecordPtr& record);

core::Problem in_progress_problem(const runtime::Route& route, const Record& record, Time now);
// For a client that waited for an execution that ended without an answer to give.
core::Problem ended_without_answer(const config::RouteConfig& route);
inline constexpr std::string_view kOutcomeUnknown =
    "A request with this key was forwarded, but no answer came back, so it may have taken effect. "
    "Do "
    "not send it under a new key; an operator has to resolve it.";
// `record`: null if it is not known.
core::Problem outcome_unknown(const config::RouteConfig& route, const Record* record, Time now);

}  // namespace semel::execution
