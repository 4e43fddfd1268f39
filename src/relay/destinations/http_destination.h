#pragma once

#include <expected>
#include <memory>
#include <string>

#include "config/config.h"
#include "http/client.h"
#include "http/deadlines.h"
#include "http/pool.h"
#include "relay/delivery.h"
#include "semel/driver/clock.h"

namespace semel::relay {

// POSTs a message to a URL, with its derived key as Idempotency-Key. The answers mean:
//
//   2xx                               delivered
//   408, 409, 425, 429, 5xx, 3xx      try again, not before Retry-After
//   no answer, no connection          try again; it may have arrived
//   any other 4xx                     refused
//
// Does not follow redirects. Runs on the thread of its executor.
class HttpDestination final : public Destination {
 public:
  // Reads the TLS files. The error is a sentence for the operator.
  static std::expected<std::unique_ptr<HttpDestination>, std::string> make(
      config::RelayDestination config, boost::asio::any_io_executor executor,
      http::Deadlines& deadlines, const Clock& clock);

  boost::asio::awaitable<Outcome> deliver(std::shared_ptr<const Message> message) override;

 private:
  HttpDestination(config::RelayDestination config, boost::asio::any_io_executor executor,
                  http::Deadlines& deadlines, const Clock& clock,
                  std::shared_ptr<const http::TlsClient> tls);
  std::expected<http::Client::Request, std::string> request_for(const Message& message) const;
  Outcome outcome_of(const http::Client::Answer& answer) const;

  const config::RelayDestination config_;
  http::Deadlines& deadlines_;
  const Clock& clock_;
  http::UpstreamPool pool_;
};

}  // namespace semel::relay
