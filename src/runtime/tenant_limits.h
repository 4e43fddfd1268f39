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
#include "semel/record.h"

namespace semel {

// What each tenant may have of each operation: new keys a second, live keys, executions at once;
// and how many keys all of them together may use.
// Kept in this process only. Bounded: of too many tenants, those not heard of for longest are
// forgotten, which gives them a full bucket and no keys; one that executes is never forgotten.
//
// Thread-safe: workers share it, a lock a shard, held for a few instructions.
class TenantLimits {
 public:
  enum class Limit { none, new_keys, live_keys, in_flight, all_new_keys, all_live_keys };
  struct Verdict {
    Limit exceeded = Limit::none;
    Duration retry_after{0};
  };

  // One execution's place among a tenant's; given up when it goes.
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

  // Who is counted together: a tenant's keys of one operation, whatever its paths.
  static std::string who(std::string_view tenant, std::string_view operation);

  // An execution is about to begin; `is_new`: of a new key. Without a verdict against it, it counts
  // from now on, and a Slot must be made for it if there is a limit on executions.
  // `of_all` are the limits over all tenants.
  Verdict begin(const std::string& who, const RouteLimits& limits, const LimitsConfig& of_all,
                bool is_new, Time now);

  // Whether live keys are counted: only then does every change of a record come by here.
  // Switched on again it begins anew: what went meanwhile was not seen.
  void count_live(bool on);
  // A record came or went. `by` is 1 or -1.
  void live_changed(const Record& record, int by);
  bool counts_live() const { return counts_live_; }

 private:
  // New keys that may be used now.
  struct Bucket {
    // Takes one; nothing: it was there. Else how long to wait for the next.
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
    std::list<std::string>::iterator slot;  // among the shard's, the latest first
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
  static Verdict begin_of(Tenant& tenant, const RouteLimits& limits, bool is_new, Time now);
  Verdict begin_of_all(const LimitsConfig& limits, Time now);
  void leave(const std::string& who);

  std::array<Shard, kShards> shards_;
  std::mutex all_mutex_;
  Bucket all_;
  std::atomic<std::int64_t> all_live_ = 0;
  std::atomic<bool> counts_live_ = false;
};

// Whether the record counts as a live key.
bool is_live(const Record& record);

}  // namespace semel
