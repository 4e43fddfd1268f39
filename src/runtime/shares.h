#pragma once

#include <array>
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

// What callers have in common, and how much of it each may hold.
//
// The promise: one caller alone cannot use all of it up. Whoever holds a quarter of a limit gets
// nothing more once three quarters of it are taken, so that the last quarter is there for the
// others. If that is broken, one caller shuts the gateway for all.
namespace semel {

// Counts up in a shared counter for as long as it lives.
class Counted {
 public:
  explicit Counted(std::atomic<std::size_t>& counter, std::size_t by = 1)
      : counter_(&counter), by_(by), before_(counter.fetch_add(by)) {}
  Counted(Counted&& other) noexcept
      : counter_(std::exchange(other.counter_, nullptr)), by_(other.by_), before_(other.before_) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() {
    if (counter_) counter_->fetch_sub(by_);
  }
  std::size_t before() const { return before_; }
  // Counts `by` instead of what it counted so far.
  void recount(std::size_t by) {
    // Unsigned arithmetic: less wraps around to less.
    before_ = counter_->fetch_add(by - by_);
    by_ = by;
  }

 private:
  std::atomic<std::size_t>* counter_;
  std::size_t by_;
  std::size_t before_;
};

// What is kept of `limit` for those who hold less than that. Of a few places nothing is: one caller
// may take them all.
constexpr std::size_t kept_for_others(std::size_t limit) {
  constexpr std::size_t kSharedFrom = 8;
  return limit >= kSharedFrom ? limit / 4 : 0;
}

// Whether one who holds `own` of it may have more, of which all together hold `all`.
constexpr bool has_share(std::size_t own, std::size_t all, std::size_t limit) {
  const std::size_t kept = kept_for_others(limit);
  return all < limit - kept || (all < limit && own < kept);
}

// What one peer or one tenant holds.
struct ShareHolder : std::enable_shared_from_this<ShareHolder> {
  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> in_flight = 0;
  std::atomic<std::size_t> held_bytes = 0;     // of bodies, in memory
  std::atomic<std::size_t> spooled_bytes = 0;  // the same in files
  std::atomic<std::size_t> queued = 0;
};
using ShareHolderPtr = std::shared_ptr<ShareHolder>;

// Everybody who holds something, and nobody else: one is forgotten with the last that refers to it.
// Must outlive those. Thread-safe.
class ShareHolders {
 public:
  // Of IPv6 a whole /64: whoever has one of its addresses has all of them.
  ShareHolderPtr of_peer(const boost::asio::ip::address& address);
  ShareHolderPtr of_tenant(std::string_view tenant);
  // For what has no tenant: its operation.
  ShareHolderPtr of_operation(std::string_view operation);

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, std::weak_ptr<ShareHolder>> holders;
  };
  static constexpr std::size_t kShards = 16;

  ShareHolderPtr find(std::string who);

  std::array<Shard, kShards> shards_;
};

// One place among limits.in_flight, and among those of the peer it is taken for.
struct InFlight {
  InFlight(std::atomic<std::size_t>& everybodys, ShareHolder* holder) : all(everybodys) {
    if (holder) own.emplace(holder->in_flight);
  }
  bool has_share_of(std::size_t limit) const {
    return has_share(own ? own->before() : 0, all.before(), limit);
  }

  Counted all;
  std::optional<Counted> own;
};

// The bytes of one request's body, counted for all and for whoever sent it.
class HeldBytes {
 public:
  using Kind = std::atomic<std::size_t> ShareHolder::*;
  // `peer` outlives this; null: nobody in particular.
  HeldBytes(std::atomic<std::size_t>& everybodys, ShareHolder* peer,
            Kind kind = &ShareHolder::held_bytes)
      : kind_(kind), all_(everybodys, 0) {
    if (peer) peers_.emplace(peer->*kind, 0);
  }
  // Counts for this tenant, too, from now on.
  void belong_to(ShareHolderPtr tenant);
  bool has_tenant() const { return tenant_ != nullptr; }
  // Holds so many now. False: there is no room for them.
  bool recount(std::size_t bytes, std::size_t limit);

 private:
  Kind kind_;
  std::size_t bytes_ = 0;
  Counted all_;
  std::optional<Counted> peers_;
  ShareHolderPtr tenant_;
  std::optional<Counted> tenants_;
};

}  // namespace semel
