#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "semel/record.h"

namespace semel {

// Nothing was written; trying again may help.
struct StoreUnavailable {
  std::string why;
  bool unreadable = false;  // the record is there, but cannot be read: never to be taken for absent
};

// What became of a swap.
namespace swap {
struct Applied {
  Version version = 0;  // the new version; 0 after a removal
};
// The record was not at the expected version; nothing was written. This is the truth.
struct Conflict {
  std::shared_ptr<Record> current = nullptr;  // null: there is none. It is the caller's own
};
// Somebody holds the record in an open transaction of their own; nothing was written. This is what
// was committed last: null, if it is a record that they are about to make. It may be at the
// expected version.
struct Busy {
  std::shared_ptr<Record> current = nullptr;
};
// It may have been written or not, or may be written yet. Confirm by swapping again.
struct Unknown {
  std::string why;
};
// The record is larger than the store takes; nothing was written.
struct TooLarge {
  std::size_t record_bytes_max = 0;
};
}  // namespace swap
using SwapResult = std::variant<swap::Applied, swap::Conflict, StoreUnavailable, swap::Unknown,
                                swap::TooLarge, swap::Busy>;

template <typename T>
using StoreResult = std::expected<T, StoreUnavailable>;

struct StoreFeatures {
  // Only one process at a time has the store open: what another run owns is abandoned.
  bool exclusive = false;
  // What was applied survives the process being killed.
  bool durable = false;
  std::size_t record_bytes_max = 0;
  // put_chunk() and its like work.
  bool chunks = false;
};

// Every chunk of a body but its last has this size.
inline constexpr std::size_t kChunkBytes = 256 * 1024;

// A page of records in id order.
struct ScanPage {
  std::vector<RecordPtr> records;  // none is null
  std::optional<RecordId> next;    // pass it as `after` to go on; nullopt: that was the last page
};

struct StoreStats {
  std::uint64_t unknown_records = 0;
  std::optional<Time> oldest_unknown;  // when it became unknown
  std::uint64_t removed_records = 0;   // expired ones that the store has removed by itself
  // How far this machine's clock is ahead of the store's servers', where it differs most; negative:
  // behind. Only of a store that compares them.
  Duration clock_ahead{0};
};

// What a store has found out that bears on claims. trouble() says it in a sentence.
struct StoreDoubts {
  // This machine's clock is not to be believed: nothing is over by it, no lease and no ttl.
  bool clock = false;
  // Nothing new may begin: a claim could be forgotten, or be over before its time.
  bool claims = false;
};

// A compare-and-swap map from record id to record. It knows nothing of states, leases or tokens
// beyond due_at(). All calls may be made from any executor and resume on the caller's.
class Store {
 public:
  virtual ~Store() = default;

  // The record; null: absent. The record that is returned is as durable as the store makes
  // anything.
  virtual boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) = 0;

  // The completed record, if the store has it in memory; returns at once. Never older than what
  // swap() would return. Null means "unknown", not "absent".
  virtual RecordPtr cached_completed(const RecordId&) { return nullptr; }

  // Replaces the record if it is at `expected` (0: absent); null removes it. `next->version` is
  // ignored. After `Applied` the write is durable. The caller does not change `next` meanwhile; a
  // store that keeps it, and hands it out, has set its version by then, and nobody changes it any
  // more. After anything else the store does not look at it again.
  virtual boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                                  std::shared_ptr<Record> next) = 0;

  // Up to `limit` records with due_at() <= now, the earliest first; none is null. Changes nothing.
  virtual boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                            std::size_t limit) = 0;

  virtual boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                             std::size_t limit) = 0;

  // Chunks hold a body that is too large for its record (BodyNote::spilled), under the token of the
  // attempt that made them. They are put before the record that refers to them is written, and go
  // with it: a swap that removes such a record, or replaces it by one that is not spilled under the
  // same token, removes them in the same write. What no record came to refer to is dropped by its
  // maker; or, if that one has died, by the store: when it is opened next where only one process
  // has it open, a day after it was put where several share it. Only where features().chunks.
  //
  // After put_chunk() the chunk is as durable as the store makes anything.
  virtual boost::asio::awaitable<StoreResult<void>> put_chunk(RecordId, Token,
                                                              std::uint32_t /*index*/,
                                                              std::string /*bytes*/) {
    co_return std::unexpected(StoreUnavailable{"this kind of store keeps no chunks"});
  }
  // nullopt: it is not there.
  virtual boost::asio::awaitable<StoreResult<std::optional<std::string>>> get_chunk(
      RecordId, Token, std::uint32_t /*index*/) {
    co_return std::nullopt;
  }
  virtual boost::asio::awaitable<StoreResult<void>> drop_chunks(RecordId, Token) {
    co_return StoreResult<void>{};
  }

  // Holds the caller until the claim under `token` may have ended, in whatever process it runs, or
  // until `timeout` has passed. A hint: look at the record. False, at once: this store cannot tell.
  virtual boost::asio::awaitable<bool> ended(RecordId, Token, Duration /*timeout*/) {
    co_return false;
  }

  // The time by the store's own clock, where it has one, which then decides about leases in all
  // processes; never ahead of it. nullopt: it has none, or has not been reached yet.
  virtual std::optional<Time> now() const { return std::nullopt; }

  virtual StoreFeatures features() const = 0;
  // Cheap enough for every scrape of the metrics.
  virtual StoreStats stats() const = 0;
  // Cheap enough for every claim.
  virtual StoreDoubts doubts() const { return {}; }
  // Why the store takes no writes at the moment, or what it doubts; nullopt: it is healthy.
  virtual std::optional<std::string> trouble() const = 0;

  // Reads again the files that the store was opened with, for example its keys. May block. The
  // error is a sentence for the operator; nothing has changed then.
  virtual std::expected<void, std::string> reload() { return {}; }
};

}  // namespace semel
