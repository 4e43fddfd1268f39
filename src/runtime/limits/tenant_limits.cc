#include "runtime/limits/tenant_limits.h"

#include <algorithm>
#include <cmath>

namespace semel::runtime {
namespace {

// How many of the least recently used tenants are searched for one that can be forgotten.
constexpr std::size_t kLookedAtMax = 16;
// A guess: it is not known here when one of the tenant's keys expires.
constexpr auto kLiveKeysRetryAfter = std::chrono::seconds(30);
constexpr auto kInFlightRetryAfter = std::chrono::seconds(1);

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

bool is_live(const Record& record) {
  return record.state != RecordState::tombstone;
}

std::string TenantLimits::who(std::string_view tenant, std::string_view operation) {
  // Takes only the operation from a path's scope; the scope of a tenant begins with the tab.
  const std::string_view name = operation.substr(0, std::max<std::size_t>(operation.find('\t'), 1));
  std::string out = std::to_string(name.size()) + ":";
  return out.append(name).append(tenant);
}

TenantLimits::Tenant& TenantLimits::tenant_of(Shard& shard, const std::string& who) {
  const auto [found, added] = shard.tenants.try_emplace(who);
  Tenant& tenant = found->second;
  if (!added) {
    shard.by_use.splice(shard.by_use.begin(), shard.by_use, tenant.slot);
    return tenant;
  }
  shard.by_use.push_front(who);
  tenant.slot = shard.by_use.begin();
  std::size_t looked_at = 0;
  for (auto at = std::prev(shard.by_use.end());
       shard.tenants.size() > kTenantsPerShardMax && looked_at < kLookedAtMax && *at != who;
       ++looked_at) {
    const auto oldest = at--;
    if (shard.tenants.at(*oldest).executing > 0) continue;
    shard.tenants.erase(*oldest);
    shard.by_use.erase(oldest);
  }
  return tenant;
}

Duration TenantLimits::Bucket::take(double rate, double burst, Time now) {
  if (!is_filled) {
    tokens = burst;
  } else if (now > filled_at) {
    tokens = std::min(burst, tokens + rate * seconds(now - filled_at));
  }
  is_filled = true;
  filled_at = now;
  if (tokens < 1) {
    return Duration(static_cast<std::int64_t>(std::ceil((1 - tokens) / rate * 1000)));
  }
  tokens -= 1;
  return Duration{0};
}

TenantLimits::Verdict TenantLimits::begin(const std::string& who, const config::RouteLimits& limits,
                                          const config::LimitsConfig& of_all, bool is_new,
                                          Time now) {
  if (is_new) {
    const Verdict of_everybody = begin_of_all(of_all, now);
    if (of_everybody.exceeded != Limit::none) return of_everybody;
  }
  Verdict verdict;
  {
    Shard& shard = shard_of(who);
    const std::lock_guard lock(shard.mutex);
    verdict = begin_of(tenant_of(shard, who), limits, is_new, now);
  }
  if (verdict.exceeded != Limit::none && is_new && of_all.new_keys_per_second > 0) {
    const std::lock_guard lock(all_mutex_);
    all_.put_back();  // or one tenant's refused requests would use up the share of others
  }
  return verdict;
}

TenantLimits::Verdict TenantLimits::begin_of_all(const config::LimitsConfig& limits, Time now) {
  if (limits.live_keys > 0 && all_live_ >= static_cast<std::int64_t>(limits.live_keys)) {
    return {Limit::all_live_keys, kLiveKeysRetryAfter};
  }
  if (limits.new_keys_per_second == 0) return {};
  const double rate = static_cast<double>(limits.new_keys_per_second);
  const std::lock_guard lock(all_mutex_);
  const Duration wait = all_.take(rate, rate, now);
  if (wait > Duration{0}) return {Limit::all_new_keys, wait};
  return {};
}

TenantLimits::Verdict TenantLimits::begin_of(Tenant& tenant, const config::RouteLimits& limits,
                                             bool is_new, Time now) {
  if (limits.in_flight > 0 && tenant.executing >= limits.in_flight) {
    return {Limit::in_flight, kInFlightRetryAfter};
  }
  if (is_new && limits.live_keys > 0 &&
      tenant.live >= static_cast<std::int64_t>(limits.live_keys)) {
    return {Limit::live_keys, kLiveKeysRetryAfter};
  }
  if (is_new && limits.new_keys_per_second > 0) {
    const std::size_t burst = limits.burst > 0 ? limits.burst : limits.new_keys_per_second;
    const Duration wait = tenant.bucket.take(static_cast<double>(limits.new_keys_per_second),
                                             static_cast<double>(burst), now);
    if (wait > Duration{0}) return {Limit::new_keys, wait};
  }
  if (limits.in_flight > 0) ++tenant.executing;
  return {};
}

void TenantLimits::leave(const std::string& who) {
  Shard& shard = shard_of(who);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.tenants.find(who);
  if (found != shard.tenants.end() && found->second.executing > 0) --found->second.executing;
}

void TenantLimits::count_live(bool on) {
  if (counts_live_.exchange(on) || !on) return;
  all_live_ = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (auto& [who, tenant] : shard.tenants) tenant.live = 0;
  }
}

void TenantLimits::live_changed(const Record& record, int by) {
  const std::string key = who(record.tenant, record.operation);
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  Tenant& tenant = tenant_of(shard, key);
  tenant.live = std::max<std::int64_t>(0, tenant.live + by);
  std::int64_t live = all_live_;
  while (!all_live_.compare_exchange_weak(live, std::max<std::int64_t>(0, live + by))) continue;
}

}  // namespace semel::runtime
