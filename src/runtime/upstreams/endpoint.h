#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "config/upstream.h"
#include "http/tls.h"

namespace semel::runtime {

// What makes two upstreams the same one: whoever has the same key shares one Endpoint.
struct EndpointKey {
  std::string host;
  std::uint16_t port = 0;
  std::optional<http::TlsClientFiles> tls;     // nullopt: plain
  std::optional<config::HealthConfig> health;  // nullopt: not checked
  std::string address;                         // one of the host's; "": the host itself
  auto operator<=>(const EndpointKey&) const = default;
};

// The health of one upstream address, shared by all workers and routes. Thread-safe; the functions
// that a request calls while all is well take no lock.
//
// It is left out for a while after failures to connect in a row (ejected), and for as long as
// checks of Semel's own fail (down). Nothing in here keeps anybody from trying it all the same.
class Endpoint {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  explicit Endpoint(EndpointKey key) : key_(std::move(key)) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const EndpointKey& key() const { return key_; }
  // Returns it as a URL, with the address behind it if it is one of a name's.
  std::string name() const;

  // Returns whether it takes part: neither ejected nor down.
  bool is_up() const;
  bool is_ejected() const { return ejected_until_.load(std::memory_order_relaxed) != 0; }
  bool is_down() const { return is_down_.load(std::memory_order_relaxed); }
  // Call it if not is_up(). True: its ejection is over, and the caller is the one who finds out
  // whether it is back, for which it has `patience`; meanwhile it stays left out for all others.
  bool take_trial(Instant now, Duration patience);
  // Returns its share of an upstream's requests, above 0 and at most 1: it grows for `slow_start`
  // after it came back.
  double weight(Instant now, Duration slow_start) const;

  // A connection was made. Returns whether that ended an ejection.
  bool connected(Instant now);
  // No connection could be made. Returns for how long it is ejected now; nullopt: nothing changed.
  std::optional<Duration> failed(Instant now, const config::BalanceConfig& rules);
  // The result of a check. These return whether it came up or went down by that.
  bool check_passed(Instant now, std::size_t healthy_after);
  bool check_failed(std::size_t unhealthy_after);

  // Exchanges that are under way there.
  std::atomic<std::size_t>& exchange_count() { return exchanges_; }
  std::size_t exchanges() const { return exchanges_.load(std::memory_order_relaxed); }
  std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

 private:
  using Ticks = Instant::rep;

  const EndpointKey key_;
  std::atomic<Ticks> ejected_until_ = 0;  // 0: it is not ejected
  std::atomic<bool> is_down_ = false;
  std::atomic<Ticks> back_since_ = 0;  // 0: it has always been there
  std::atomic<std::size_t> failures_in_row_ = 0;
  std::atomic<std::size_t> exchanges_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
  std::mutex mutex_;  // guards the rest, and changes of ejected_until_ and failures_in_row_
  bool is_tried_ = false;
  std::size_t ejections_ = 0;  // one soon after the other
  Instant last_until_{};
  std::size_t checks_passed_ = 0;  // in a row
  std::size_t checks_failed_ = 0;
};
using EndpointPtr = std::shared_ptr<Endpoint>;

}  // namespace semel::runtime
