#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "http/target.h"
#include "server/api_listener.h"
#include "server/listeners.h"
#include "server/process.h"
#include "service/claiming.h"
#include "service/clients.h"
#include "service/service_metrics.h"

namespace semel::service {

// The service API: /v1/claims and /v1/records, for programs that cannot sit behind the gateway. Has
// a listener on every worker of the process.
class Service {
 public:
  // Null if none is configured. The error is a sentence for the operator.
  static std::expected<std::unique_ptr<Service>, std::string> start(
      server::Process& process, const server::Listeners& listeners);

  config::HostPort listening() const { return listeners_.front()->listening(); }
  // Lets these clients in from now on, instead of the former ones. May be called from any thread.
  void use(std::shared_ptr<const Clients> clients) { clients_ = std::move(clients); }
  std::shared_ptr<const Clients> clients() const { return clients_; }

 private:
  Service(server::Process& process, std::shared_ptr<const Clients> clients);
  boost::asio::awaitable<Answer> answer(runtime::Worker& worker, server::ApiRequest& request);
  boost::asio::awaitable<Answer> answer_to(Asked& asked, std::string path, std::string& call);
  boost::asio::awaitable<Answer> claim(Asked& asked);
  boost::asio::awaitable<Answer> end_claim(Asked& asked, RecordId id, Verb verb);

  std::atomic<std::shared_ptr<const Clients>> clients_;
  ServiceMetrics metrics_;
  std::vector<std::unique_ptr<server::ApiListener>> listeners_;
};

}  // namespace semel::service
