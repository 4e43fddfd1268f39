#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "config/config.h"
#include "semel/driver/record.h"

namespace semel::runtime {

// Limits per tenant and operation: new keys per second, live keys, executions at once; and limits
// on the keys of all tenants together. Kept in this process only. Bounded: if there are too many
// tenants, the least recently used are forgotten, which gives them a full bucket and no keys; a
// tenant that executes is never forgotten.
//
// Thread-safe: workers share it, with one lock per shard, held for a few instructions.
class TenantLimits {
 public:
  enum class Limit { none, new_keys, live_keys, in_flight, all_new_keys, all_live_keys };
  struct Verdict {
    Limit exceeded = Limit::none;
    Duration retry_after{0};
  };

  // One execution's place among a tenant's; given up in the destructor.
  class Slot {
   public:
    Slot(TenantLimits& limits, std::string who) : limits_(&limits), who_(std::move(who)) {}
    Slot(Slot&& other) noexcept
        : limits_(std::exchange(other.limits_, nullptr)), who_(std::move(other.who_)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (limits_) limits_->leave(who_);
    }

   private:
    TenantLimits* limits_;
    std::string who_;
  };

  // Returns the name under which keys are counted together: a tenant's keys of one operation,
  // whatever its paths.
  static std::string who(std::string_view tenant, std::string_view operation);

  // Call when an execution is about to begin; `is_new`: with a new key. Unless a limit is exceeded,
  // the execution counts from now on, and a Slot must be made for it if there is a limit on
  // executions. `of_all` are the limits over all tenants.
  Verdict begin(const std::string& who, const config::RouteLimits& limits,
                const config::LimitsConfig& of_all, bool is_new, Time now);

  // Sets whether live keys are counted: only then is every change of a record reported here. When
  // switched on again, counting starts over, because removals meanwhile were not seen.
  void count_live(bool on);
  // Call when a record came or went. `by` is 1 or -1.
  void live_changed(const Record& record, int by);
  bool counts_live() const { return counts_live_; }

 private:
  // New keys that may be used now.
  struct Bucket {
    // Takes one token and returns 0; if there is none, returns how long to wait for the next.
    Duration take(double rate, double burst, Time now);
    void put_back() { tokens += 1; }

    double tokens = 0;
    Time filled_at{};
    bool is_filled = false;
  };
  struct Tenant {
    Bucket bucket;
    std::size_t executing = 0;
    std::int64_t live = 0;
    std::list<std::string>::iterator slot;  // in the shard's by_use, the latest first
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, Tenant> tenants;
    std::list<std::string> by_use;
  };

  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kTenantsPerShardMax = 2048;

  Shard& shard_of(const std::string& who) {
    return shards_[std::hash<std::string>{}(who) % kShards];
  }
  static Tenant& tenant_of(Shard& shard, const std::string& who);
  static Verdict begin_of(Tenant& tenant, const config::RouteLimits& limits, bool is_new, Time now);
  Verdict begin_of_all(const config::LimitsConfig& limits, Time now);
  void leave(const std::string& who);

  std::array<Shard, kShards> shards_;
  std::mutex all_mutex_;
  Bucket all_;
  std::atomic<std::int64_t> all_live_ = 0;
  std::atomic<bool> counts_live_ = false;
};

// Returns whether the record counts as a live key.
bool is_live(const Record& record);

}  // namespace semel::runtime
