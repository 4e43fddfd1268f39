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

// The resources that callers share, and how much of them each may hold.
//
// The promise: one caller alone cannot use up all of a resource. A caller that holds a quarter of a
// limit gets nothing more once three quarters of it are taken, so that the last quarter is there
// for the others. If this were broken, one caller could shut the gateway for all.
namespace semel::runtime {

// Adds to a shared counter for as long as it lives.
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
  // Counts `by` instead of its previous amount.
  void recount(std::size_t by) {
    // Unsigned arithmetic: a negative difference wraps around and still subtracts.
    before_ = counter_->fetch_add(by - by_);
    by_ = by;
  }

 private:
  std::atomic<std::size_t>* counter_;
  std::size_t by_;
  std::size_t before_;
};

// Returns the part of `limit` that is kept for callers who hold less than that. Nothing is kept of
// a few places: one caller may take them all.
constexpr std::size_t kept_for_others(std::size_t limit) {
  constexpr std::size_t kSharedFrom = 8;
  return limit >= kSharedFrom ? limit / 4 : 0;
}

// Returns whether a caller that holds `own` of `limit` may have more, while all together hold
// `all`.
constexpr bool has_share(std::size_t own, std::size_t all, std::size_t limit) {
  const std::size_t kept = kept_for_others(limit);
  return all < limit - kept || (all < limit && own < kept);
}

// The amounts that one peer or one tenant holds.
struct ShareHolder : std::enable_shared_from_this<ShareHolder> {
  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> in_flight = 0;
  std::atomic<std::size_t> held_bytes = 0;     // of bodies, in memory
  std::atomic<std::size_t> spooled_bytes = 0;  // of bodies, in files
  std::atomic<std::size_t> queued = 0;
  std::atomic<std::size_t> waiting = 0;  // claims of the service API
};
using ShareHolderPtr = std::shared_ptr<ShareHolder>;

// Every peer and tenant that holds something, and no other: a holder is forgotten when its last
// ShareHolderPtr is gone. Must outlive those pointers. Thread-safe.
class ShareHolders {
 public:
  // For IPv6, one holder per /64: whoever has one of its addresses has all of them.
  ShareHolderPtr of_peer(const boost::asio::ip::address& address);
  ShareHolderPtr of_tenant(std::string_view tenant);
  // For requests without a tenant: one holder per operation.
  ShareHolderPtr of_operation(std::string_view operation);
  // A client of the service API.
  ShareHolderPtr of_client(std::string_view client);

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, std::weak_ptr<ShareHolder>> holders;
  };
  static constexpr std::size_t kShards = 16;

  ShareHolderPtr find(std::string who);

  std::array<Shard, kShards> shards_;
};

// One place among limits.in_flight, and among the places of the peer that it is taken for.
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

// The bytes of one request's body, counted for all callers and for its sender.
class HeldBytes {
 public:
  using Kind = std::atomic<std::size_t> ShareHolder::*;
  // `peer` outlives this; null: nobody in particular.
  HeldBytes(std::atomic<std::size_t>& everybodys, ShareHolder* peer,
            Kind kind = &ShareHolder::held_bytes)
      : kind_(kind), all_(everybodys, 0) {
    if (peer) peers_.emplace(peer->*kind, 0);
  }
  // Counts the bytes for this tenant, too, from now on.
  void belong_to(ShareHolderPtr tenant);
  bool has_tenant() const { return tenant_ != nullptr; }
  // Sets the number of bytes held. Returns false if there is no room for them.
  bool recount(std::size_t bytes, std::size_t limit);

 private:
  Kind kind_;
  std::size_t bytes_ = 0;
  Counted all_;
  std::optional<Counted> peers_;
  ShareHolderPtr tenant_;
  std::optional<Counted> tenants_;
};

}  // namespace semel::runtime
