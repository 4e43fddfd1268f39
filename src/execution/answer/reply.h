#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.h"
#include "execution/answer/body_pace.h"
#include "execution/headers.h"
#include "http/connection.h"
#include "http/target.h"
#include "runtime/worker.h"

namespace semel::execution {

// One request of a client while it is being handled. Lives in the session's frame.
struct ClientRequest {
  runtime::Worker& worker;
  const runtime::ActiveConfigPtr
      settings;  // as they were when the request came; kept until it is done
  http::Connection& client;
  http::Request& message;
  http::Target target;
  const Forwarded& forwarded;
  bool keep_alive = true;           // whether the connection stays open after the answer
  int sent_status = 0;              // of the answer whose head was made; 0: none yet
  std::string_view sent_code = {};  // of the problem that was the answer; empty: it was none
  // The request's place among limits.in_flight. Given up before the answer's last bytes are
  // written: a client that has its answer may send the next request at once.
  std::optional<runtime::InFlight> in_flight = {};
  // Its place among the tenant's requests on this route, if there is such a limit.
  std::optional<runtime::TenantLimits::Slot> tenant_slot = {};
  runtime::ShareHolder* peer =
      nullptr;                  // owns the connection; null: a trusted proxy, which has no share
  telemetry::Trace trace = {};  // empty unless it is sampled
  void give_up_slot() {
    in_flight.reset();
    tenant_slot.reset();
  }

  runtime::Services& services() const { return worker.services(); }
  const config::LimitsConfig& limits() const { return settings->config.limits; }
  RequestHead head() const {
    return {message.method(), target.origin, message.fields(), forwarded};
  }
};

// Counts the request by its result, here and in its trace.
void count_result(ClientRequest& request, const runtime::Route& route,
                  telemetry::RequestResult result);

// Returns the traceparent of the request: of our own span, or else the client's; "": there is none.
std::string trace_of(const ClientRequest& request);

// How the end of an answer's body is marked for the client.
enum class BodyEnd { length, chunks, close };

// Builds the head of an answer. Announces `length` if `end` says so and the status has a body.
std::string answer_head(ClientRequest& request, int status, const std::vector<Header>& headers,
                        const std::vector<Header>& extra, BodyEnd end, std::uint64_t length);

// Returns the status line and the answer's own fields. More may be appended; end_head() ends it.
std::string begin_head(int status, const std::vector<Header>& headers);
// Returns whether the answer has a Date of its own.
bool has_date(const std::vector<Header>& headers);

// Ends a head that has its status line and the answer's own fields: adds Date unless they had one,
// the body's framing, and whether the connection stays open.
void end_head(ClientRequest& request, std::string& head, bool is_dated, int status, BodyEnd end,
              std::uint64_t length);

// Writes a piece of an answer. Waits for the client no longer than its pace allows.
boost::asio::awaitable<http::IoResult<void>> write_at_pace(ClientRequest& request, ClientPace& pace,
                                                           std::string_view first,
                                                           std::string_view second = {},
                                                           std::string_view third = {});

// Sends an answer. If it cannot be written, the connection ends after this request, nothing else.
boost::asio::awaitable<void> send_answer(ClientRequest& request, const Answer& answer,
                                         const std::vector<Header>& extra);
// Sends an answer whose head is ready.
boost::asio::awaitable<void> send_whole(ClientRequest& request, std::string head,
                                        const Answer& answer);
boost::asio::awaitable<void> send_problem(ClientRequest& request, const core::Problem& problem,
                                          const config::RouteConfig* route,
                                          const std::vector<Header>& extra = {});

// Takes a place among limits.in_flight. False: none is free, or none for this peer.
bool take_slot(ClientRequest& request);
// Takes a place, or answers the request if there is none. False: it has been answered.
boost::asio::awaitable<bool> take_slot_or_refuse(ClientRequest& request,
                                                 const runtime::Route& route);

// Returns whether to read the rest of a body that nobody wants, so that the connection can be used
// again.
bool reads_rest(const ClientRequest& request);

// Ends the connection in the middle of an answer, so that the client sees that it is not whole.
void cut_off(ClientRequest& request);

// Answers a request for which there is no place.
boost::asio::awaitable<void> refuse_slot(ClientRequest& request, const runtime::Route& route);

// The interim answer that a client may be waiting for before it sends its body.
bool expects_continue(const ClientRequest& request);
boost::asio::awaitable<void> send_continue(ClientRequest& request);

}  // namespace semel::execution
