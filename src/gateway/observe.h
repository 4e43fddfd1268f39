#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "execution/answer/reply.h"
#include "gateway/proxy.h"
#include "gateway/tenant/introspect.h"
#include "http/target.h"
#include "semel/driver/engine.h"
#include "telemetry/observed.h"

// `mode: observe`: proxies the request as if it had no key, and afterwards counts and logs what an
// enforcing route would have done.
//
// The promise: nothing in here holds up, changes or refuses a request, whatever the key, the tenant
// or the store are like. If it is broken, trying Semel out is an outage.
namespace semel::gateway {

// Watches one request on its way through the proxy, which reports what passes. Bounded: does not
// keep a body larger than an enforcing route takes. Used on the worker's thread.
class Observation final : public ProxyWatcher, public std::enable_shared_from_this<Observation> {
 public:
  Observation(const execution::ClientRequest& request, const runtime::Route& route);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  void request_piece(std::string_view piece) noexcept override;
  void request_done() noexcept override;
  void answered(const http::Response& response) override;
  void answer_done() override { answer_whole_ = true; }
  void not_delivered() override { not_delivered_ = true; }

  // Call it when nothing more will pass: reports and records, in the background.
  static void conclude(std::shared_ptr<Observation> observation);

 private:
  void find_key_and_tenant(const execution::ClientRequest& request);
  void keep(std::string_view piece);
  void compare();
  void find_key_in_body();
  std::string_view content_type() const;
  std::optional<std::string> joined_field(std::string_view name) const;
  RequestView view() const;
  // Throws if the recipe names a hash key that is missing.
  Fingerprint print_under(const Recipe& recipe) const;
  boost::asio::awaitable<Fingerprint> fingerprint_under(Recipe recipe) const;
  boost::asio::awaitable<Admission> admit() const;
  Call call() const;
  Outcome outcome(std::uint32_t attempt) const;
  boost::asio::awaitable<void> record();
  telemetry::Observed would(const Admission& admission, std::string& differs) const;
  void report(telemetry::Observed would, std::string_view detail = {});

  runtime::Worker& worker_;
  runtime::Services& services_;
  const runtime::ActiveConfigPtr settings_;
  const config::RouteConfig& route_;
  telemetry::RouteMetrics& metrics_;
  http::Target target_;
  std::string method_;
  std::vector<Header> headers_;
  std::optional<telemetry::Observed> decided_;  // if known before the store is asked
  std::string why_;
  std::optional<std::string> key_;
  std::string tenant_;
  std::optional<Credential> credential_;  // if the tenant has to be asked for, afterwards
  std::string body_;
  runtime::HeldBytes held_bytes_;
  bool request_whole_ = false;
  Recipe recipe_;
  Fingerprint fingerprint_;
  std::optional<RecordId> entered_;
  int status_ = 0;
  std::string said_;  // the executor's Idempotency-Outcome
  bool answer_whole_ = false;
  bool not_delivered_ = false;
};

boost::asio::awaitable<void> observe(execution::ClientRequest& request,
                                     const runtime::Route& route);

}  // namespace semel::gateway
