#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "execution/background.h"
#include "execution/execution.h"
#include "gateway/keyed/decision.h"
#include "gateway/keyed/request_key.h"
#include "gateway/tenant/caller.h"
#include "http/fields/prefer.h"

namespace semel::gateway {

// Takes a keyed request through the gateway. exchange.cc: key, tenant, body, fingerprint;
// exchange_admission.cc: the question to the engine; exchange_answer.cc: what the engine says.
// execution.cc executes the request.
class Exchange {
 public:
  Exchange(execution::ClientRequest& request, const runtime::Route& route)
      : request_(request),
        services_(request.services()),
        route_(route),
        config_(route.config()),
        held_bytes_(services_.buffered_bytes, request.peer),
        spooled_bytes_(services_.spooled_bytes, request.peer,
                       &runtime::ShareHolder::spooled_bytes) {}

  boost::asio::awaitable<void> run();
  void log() const;

 private:
  boost::asio::awaitable<void> refuse(core::Problem problem);
  // Answers with a problem about the key, which is known.
  boost::asio::awaitable<void> send_about_key(core::Problem problem);
  // Names the key's record, as far as key and tenant are known.
  void name_record(core::Problem& problem) const;
  // These return the problem to refuse the request with; nullopt: none. They wait for nobody.
  std::optional<core::Problem> find_key();
  std::optional<core::Problem> take_tenant(Caller caller);
  // Decides how the body is going to be read, before it comes.
  std::optional<core::Problem> prepare_body();
  std::optional<core::Problem> compare_digest();
  // False: the request has been answered.
  boost::asio::awaitable<bool> read_body();
  boost::asio::awaitable<bool> refuse_size();
  // Counts what is held of the body: this much in memory, and the file. False: there is no room for
  // it.
  bool hold(std::size_t memory_bytes);
  boost::asio::awaitable<void> cannot_keep(std::string why);
  boost::asio::awaitable<bool> find_key_after_body();
  boost::asio::awaitable<bool> find_preference();
  boost::asio::awaitable<bool> verify_event();
  boost::asio::awaitable<bool> take_fingerprint();
  boost::asio::awaitable<Fingerprint> fingerprint_under(Recipe recipe) const;
  boost::asio::awaitable<FoundKey> find_key_in_body() const;
  std::optional<std::string> joined_field(std::string_view name) const;
  RequestView view() const;
  Scope scope() const;
  Call call();
  boost::asio::awaitable<Admission> admit();
  boost::asio::awaitable<Admission> admit_once();
  bool has_open_circuit() const;
  bool may_pass_circuit(bool is_new);
  bool passes_circuit(bool is_new);
  bool has_room(bool is_new);
  boost::asio::awaitable<void> no_room();

  boost::asio::awaitable<void> answer(Admission admission);
  // Begins a part of the trace that has to do with another request's execution, and links both to
  // that.
  telemetry::Trace::Part part_about(std::string_view name, const Record& record);
  boost::asio::awaitable<void> replay(const Record& record);
  // Returns how to count a known event whose provider is told only that it is known.
  std::optional<telemetry::RequestResult> acknowledged_as(const Admission& admission) const;
  boost::asio::awaitable<void> busy(admission::Busy busy);
  boost::asio::awaitable<void> mismatch(admission::Mismatch found);
  // `other_version`: the record, if its answer has a form that is no longer given.
  boost::asio::awaitable<void> expired(const Record* other_version);
  boost::asio::awaitable<void> outcome_unknown_of(RecordPtr record);
  boost::asio::awaitable<void> store_down(StoreUnavailable unavailable);
  void name_resource(core::Problem& problem, const Record& record) const;
  boost::asio::awaitable<void> run_claim(EngineClaim claim);
  boost::asio::awaitable<void> queued(admission::Queued queued);
  void count(telemetry::RequestResult result) {
    decision_.result = result;
    execution::count_result(request_, route_, result);
  }
  void note(const Record& record) {
    decision_.record = record.id;
    decision_.attempt = record.attempt;
  }

  execution::ClientRequest& request_;
  runtime::Services& services_;
  const runtime::Route& route_;
  const config::RouteConfig& config_;
  runtime::HeldBytes held_bytes_;
  runtime::HeldBytes spooled_bytes_;
  std::optional<std::string> key_;
  bool key_in_header_ = false;
  std::string tenant_;
  bool has_tenant_ = false;
  std::optional<runtime::RequestBody> body_;
  Recipe recipe_;
  Fingerprint fingerprint_;
  runtime::TenantLimits::Verdict limited_;
  runtime::Circuit::Pass pass_;
  struct RefusedByCircuit {
    Duration retry_after;
    bool is_new;
  };
  std::optional<RefusedByCircuit> refused_by_circuit_;
  http::Preferences preferences_;
  std::optional<execution::Background::Slot> slot_;  // set if the request is to be queued
  std::string to_be_queued_;                         // the request, if so
  bool probed_ = false;
  // The request has waited for an execution in another process. Whatever became of that, it is not
  // executed now: thousands may have waited with it.
  bool only_waits_ = false;
  std::optional<std::chrono::steady_clock::time_point> wait_until_;
  Decision decision_;
};

}  // namespace semel::gateway
