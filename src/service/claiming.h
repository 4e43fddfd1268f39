#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "runtime/worker.h"
#include "server/api_listener.h"
#include "service/clients.h"
#include "service/request_body.h"

namespace semel::service {

// One request of a client, while it is handled. Lives in the listener's frame.
struct Asked {
  server::ApiRequest& request;
  const Client& client;
  runtime::ShareHolderPtr holder;  // what the client holds
  runtime::Worker& worker;
  const runtime::ActiveConfigPtr settings;

  runtime::Services& services() const { return worker.services(); }
  const config::ServiceConfig& config() const { return *settings->config.service; }
};

// An operation that clients may execute, and how its requests are compared.
struct KnownOperation {
  config::ServiceOperation rules;
  config::FingerprintConfig fingerprint;
  KeyRules key;
  std::vector<std::string> former_names;
  std::vector<std::string> describe;
};
// Looks in service.operations, then among the routes of the gateway. nullopt: it is in neither.
std::optional<KnownOperation> find_operation(const config::Config& config, std::string_view name);
// Returns the name that an operation has now: a record may have been made under a former one.
std::string_view present_name(const config::Config& config, std::string_view name);

// Takes POST /v1/claims through the engine.
class Claiming {
 public:
  Claiming(Asked& asked, ClaimBody body) : asked_(asked), body_(std::move(body)) {}
  boost::asio::awaitable<Answer> run();

 private:
  // Finds out what is asked for. Returns the answer that refuses it; nullopt: it may be asked.
  std::optional<Answer> prepare();
  Call call();
  boost::asio::awaitable<Admission> admit();
  bool has_room(bool is_new);
  // Waits for the end of the claim in the way. Returns whether to ask again.
  boost::asio::awaitable<bool> wait_for(RecordPtr busy, SteadyTime until);
  Answer answer(const Admission& admission) const;
  Answer no_room() const;

  Asked& asked_;
  const ClaimBody body_;
  std::string tenant_;
  KnownOperation operation_;
  Recipe recipe_;
  Fingerprint fingerprint_;
  runtime::TenantLimits::Verdict limited_;
};

}  // namespace semel::service
