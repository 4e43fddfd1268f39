#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "config/log.h"
#include "config/telemetry.h"
#include "core/fingerprint/keyed_hash.h"
#include "semel/time.h"
#include "telemetry/metrics.h"
#include "telemetry/poster.h"

namespace semel::telemetry {

inline constexpr std::string_view kOutcomeUnknownNotice = "semel.outcome.unknown";
inline constexpr std::string_view kDeadLetterNotice = "semel.dead-letter";

// Something that somebody has to look at.
struct Notice {
  std::string_view type;  // one of the above
  std::string name;       // of the operation without its path: notices of one name are summed
  Time at;
  std::string record = {};  // 64 hexadecimal digits; "": there is none
  std::string operation = {};
  std::string tenant = {};
  std::string key = {};
  std::string reason = {};
  std::uint32_t attempt = 0;
};

// Tells a receiver of notices by POST, signed as Standard Webhooks say. Holds nobody up and sends
// few: notices of one type and name that come while one of them is being sent, or within a second
// of it, are sent as one, with their number. Tries again for a quarter of an hour, under the same
// webhook-id.
class Notifier {
 public:
  // `keys` says whether tenants and keys are shown or their digests. The error is a sentence for
  // the operator.
  static std::expected<std::unique_ptr<Notifier>, std::string> start(
      const config::NotifyConfig& config, config::LogKeys keys, Metrics& metrics);
  ~Notifier();

  // Makes digests with this key from now on; null: plain ones. Thread-safe.
  void use_hash_key(const core::HashKey* key);
  // Thread-safe; never waits.
  void notify(Notice notice);
  // Tries once more to send what waits, then stops; stops after `at_most` in any case.
  void finish(Duration at_most);

 private:
  // The notices of one type and name that have not been sent.
  struct Lane {
    std::optional<Notice> first;
    std::uint64_t count = 0;
  };
  using Lanes = std::map<std::string, Lane>;

  Notifier(std::unique_ptr<Poster> poster, std::string secret, config::LogKeys keys,
           Metrics& metrics);
  // Sends what the lane has until it has nothing, and then removes it.
  boost::asio::awaitable<void> serve(std::string name);
  boost::asio::awaitable<void> deliver(std::string body);
  // Sleeps for that long, or until the end begins.
  boost::asio::awaitable<void> sleep(Duration duration);
  std::string shown(const std::string& text) const;
  bool is_ending();

  const std::string secret_;
  const config::LogKeys keys_;
  prometheus::Counter* sent_;
  prometheus::Counter* failed_;
  prometheus::Counter* dropped_;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<core::HashKey> hash_key_;
  Lanes lanes_;
  bool is_ending_ = false;

  std::unique_ptr<Poster> poster_;
  std::list<boost::asio::steady_timer> pauses_;  // used on the poster's thread
};

}  // namespace semel::telemetry
