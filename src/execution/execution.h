#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "execution/answer/sink.h"
#include "execution/forward_key.h"
#include "execution/upstream_call.h"
#include "semel/driver/engine.h"

namespace semel::execution {

// A request with a key, to be executed under a claim. Refers to data that its owner keeps until
// then.
struct KeyedRequest {
  RequestHead head;
  const runtime::RequestBody& body;
  bool key_in_header = true;
  // The key as the client sent it; nullopt: as the record has it, which may be only a digest.
  std::optional<std::string> key = {};
  runtime::Circuit::Pass pass = {};         // through the route's circuit, if it has one
  const telemetry::Trace* trace = nullptr;  // null: it has none
};

// Executes a claim at the upstream, records how it ended, and then answers the client, if there is
// one. If the client goes away, the execution is finished and recorded all the same.
class Execution {
 public:
  Execution(runtime::Worker& worker, runtime::Route route, EngineClaim claim,
            const KeyedRequest& request, AnswerSink answers);

  // Returns when the outcome is recorded, whatever happens, and the client has its answer.
  boost::asio::awaitable<void> run_to_end();

 private:
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<Finished> finish(Outcome outcome,
                                          Engine::Listening listening = Engine::Listening::no);
  // Call it after run() threw: records the outcome as unknown, unless one is recorded already.
  boost::asio::awaitable<void> give_up();
  std::string head(const std::string& base_path) const;
  boost::asio::awaitable<void> answered();
  // Ends an execution whose request the executor provably did not get.
  boost::asio::awaitable<void> unreachable(std::string why);
  // Ends an execution that succeeded on a route whose executor writes the record itself. The client
  // gets what was committed; if nothing was, the outcome is unknown.
  boost::asio::awaitable<void> as_committed(int status);
  // Reads and discards the rest of the executor's answer: only the record is needed.
  boost::asio::awaitable<void> read_to_end();
  boost::asio::awaitable<void> timed_out();
  boost::asio::awaitable<void> stream();
  // Records an outcome whose answer is worded by us, not by the executor, and sends that answer.
  boost::asio::awaitable<void> failed(OutcomeKind kind, core::Code code, std::string reason,
                                      std::string detail,
                                      Engine::Listening listening = Engine::Listening::no,
                                      ReasonCode reason_code = ReasonCode::other);
  boost::asio::awaitable<void> send_unrecorded(const Finished& finished);
  // Ends the part of the trace that is the call.
  void note_received(UpstreamCall::Received received);
  // Tells the route's circuit how the service did.
  void report_status();
  void report_failure();

  runtime::Worker& worker_;
  runtime::Services& services_;
  const runtime::Route route_;
  const config::RouteConfig& config_;
  EngineClaim claim_;
  const KeyedRequest request_;
  const std::string key_;
  const runtime::Counted in_progress_;  // among those of the route
  AnswerSink answers_;
  std::unique_ptr<UpstreamCall> call_;
  telemetry::Trace::Part upstream_part_;  // of the trace
};

// A whole request, to be executed without a claim.
struct UnkeyedRequest {
  ClientRequest& request;
  const runtime::Route& route;
  const runtime::RequestBody& body;
  KeyForwarding key = {};  // how the key, if there is one, is passed to the executor
  // The request has a key whose record cannot be read now: it may have been executed before.
  bool has_key = false;
};
boost::asio::awaitable<void> execute_unkeyed(const UnkeyedRequest& unkeyed,
                                             std::vector<Header> extra);

}  // namespace semel::execution
