#pragma once

#include <expected>
#include <memory>
#include <string>

#include "config/config.h"
#include "http/deadlines.h"
#include "http/pool.h"
#include "relay/delivery.h"
#include "semel/clock.h"

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
      RelayDestination config, boost::asio::any_io_executor executor, net::Deadlines& deadlines,
      const Clock& clock);

  boost::asio::awaitable<Outcome> deliver(std::shared_ptr<const Message> message) override;

 private:
  HttpDestination(RelayDestination config, boost::asio::any_io_executor executor,
                  net::Deadlines& deadlines, const Clock& clock,
                  std::shared_ptr<const net::TlsClient> tls);
  std::expected<std::string, std::string> head_of(const Message& message) const;
  boost::asio::awaitable<Outcome> exchange(const std::string& head, const std::string& body);

  const RelayDestination config_;
  net::Deadlines& deadlines_;
  const Clock& clock_;
  net::UpstreamPool pool_;
};

}  // namespace semel::relay
