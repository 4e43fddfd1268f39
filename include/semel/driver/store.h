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

#include "semel/driver/record.h"

// The interface of a store:
//
//   class MyStore : public Store { … };
//   const SwapResult result = co_await store.swap(id, /*expected=*/0, record);
//   if (std::holds_alternative<swap::Applied>(result)) answer();  // it is durable
namespace semel {

// The store cannot be used now. Nothing was written; trying again may help.
struct StoreUnavailable {
  std::string why;
  bool unreadable = false;  // the record exists but cannot be read: never treat it as absent
};

// The results of a swap.
namespace swap {
struct Applied {
  Version version = 0;  // the new version; 0 after a removal
};
// The record was not at the expected version; nothing was written. `current` is authoritative.
struct Conflict {
  std::shared_ptr<Record> current = nullptr;  // null: absent. Owned by the caller
};
// Somebody holds the record in an open transaction of their own; nothing was written. `current` is
// the record as last committed: null, if they are about to create it. It may be at the expected
// version.
struct Busy {
  std::shared_ptr<Record> current = nullptr;
};
// The record may have been written or not, or may still be written. Confirm by swapping again.
struct Unknown {
  std::string why;
};
// The record is larger than the store accepts; nothing was written.
struct TooLarge {
  std::size_t record_bytes_max = 0;
};
}  // namespace swap
using SwapResult = std::variant<swap::Applied, swap::Conflict, StoreUnavailable, swap::Unknown,
                                swap::TooLarge, swap::Busy>;

template <typename T>
using StoreResult = std::expected<T, StoreUnavailable>;

struct StoreFeatures {
  // Only one process at a time has the store open: a claim owned by another run is abandoned.
  bool exclusive = false;
  // Applied writes survive the process being killed.
  bool durable = false;
  std::size_t record_bytes_max = 0;
  // put_chunk(), get_chunk() and drop_chunks() work.
  bool chunks = false;
};

// The size of every chunk of a body but the last.
inline constexpr std::size_t kChunkBytes = 256 * 1024;

// A page of records in id order.
struct ScanPage {
  std::vector<RecordPtr> records;  // none is null
  std::optional<RecordId> next;  // pass it as `after` for the next page; nullopt: this was the last
};

struct StoreStats {
  std::uint64_t unknown_records = 0;
  std::optional<Time> oldest_unknown;  // when it became unknown
  std::uint64_t removed_records = 0;   // expired records that the store removed by itself
  // How far this machine's clock is ahead of that of the store's server whose clock differs most;
  // negative: behind. Set only by a store that compares them.
  Duration clock_ahead{0};
};

// Findings of a store that affect claims. trouble() describes them in a sentence.
struct StoreDoubts {
  // This machine's clock cannot be trusted: no lease and no ttl ends by it.
  bool clock = false;
  // No new execution may begin: a claim could be forgotten, or end before its time.
  bool claims = false;
};

// A backup that was written: the copied files, without its manifest.
struct StoreBackup {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// A compare-and-swap map from record id to record. Knows nothing about states, leases or tokens
// beyond due_at(). All calls may be made from any executor and resume on the caller's.
class Store {
 public:
  virtual ~Store() = default;

  // Returns the record; null: absent. The record is as durable as the store makes anything.
  virtual boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) = 0;

  // Returns the completed record if the store has it in memory, at once. Never older than what
  // swap() would return. Null means "unknown", not "absent".
  virtual RecordPtr cached_completed(const RecordId&) { return nullptr; }

  // Replaces the record if it is at version `expected` (0: absent); null removes it. Ignores
  // `next->version`. After Applied the write is durable. The caller must not change `next` during
  // the call. A store that keeps `next` and hands it out has set its version by then, and nobody
  // changes it any more. After any other result the store does not look at `next` again.
  virtual boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                                  std::shared_ptr<Record> next) = 0;

  // Returns up to `limit` records with due_at() <= now, earliest first, none null. Read-only. A
  // store with hours of its own for cleaning up returns, outside of them, only queued records and
  // those in progress.
  virtual boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                            std::size_t limit) = 0;

  virtual boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                             std::size_t limit) = 0;

  // Chunks hold a body that is too large for its record (BodyNote::spilled), under the token of the
  // attempt that made them. Put them before writing the record that refers to them. They are
  // removed with it: a swap that removes such a record, or replaces it by one that is not spilled
  // under the same token, removes its chunks in the same write. Chunks that no record came to refer
  // to are dropped by their maker. If the maker has died, the store drops them: an exclusive store
  // when it is next opened, a shared store a day after they were put. Only if features().chunks.
  //
  // After put_chunk() the chunk is as durable as the store makes anything.
  virtual boost::asio::awaitable<StoreResult<void>> put_chunk(RecordId, Token,
                                                              std::uint32_t /*index*/,
                                                              std::string /*bytes*/) {
    co_return std::unexpected(StoreUnavailable{"this kind of store keeps no chunks"});
  }
  // Returns the chunk; nullopt: absent.
  virtual boost::asio::awaitable<StoreResult<std::optional<std::string>>> get_chunk(
      RecordId, Token, std::uint32_t /*index*/) {
    co_return std::nullopt;
  }
  virtual boost::asio::awaitable<StoreResult<void>> drop_chunks(RecordId, Token) {
    co_return StoreResult<void>{};
  }

  // Waits until the claim under `token` may have ended, in whatever process it runs, or until
  // `timeout` has passed. Only a hint: look at the record. Returns false at once if this store
  // cannot tell.
  virtual boost::asio::awaitable<bool> ended(RecordId, Token, Duration /*timeout*/) {
    co_return false;
  }

  // Returns the time by the store's own clock, never ahead of it. Such a clock decides about leases
  // in all processes. nullopt: the store has no clock, or has not been reached yet.
  virtual std::optional<Time> now() const { return std::nullopt; }

  virtual StoreFeatures features() const = 0;
  // Cheap enough for every scrape of the metrics.
  virtual StoreStats stats() const = 0;
  // Cheap enough for every claim.
  virtual StoreDoubts doubts() const { return {}; }
  // Says why the store accepts no writes at the moment, or what it doubts; nullopt: it is healthy.
  virtual std::optional<std::string> trouble() const = 0;

  // Reads the files that the store was opened with again, for example its keys. May block. The
  // error is a sentence for the operator; after an error nothing has changed.
  virtual std::expected<void, std::string> reload() { return {}; }

  // Copies the store to the folder `to`, which must not exist, while the store is used. Everything
  // that was applied before the call is in the copy. The error is a sentence for the operator;
  // nothing is left of the folder then.
  virtual boost::asio::awaitable<std::expected<StoreBackup, std::string>> backup(
      std::string /*to*/) {
    co_return std::unexpected(
        "only the embedded store is backed up by semel; use the means of the store's own server");
  }
};

}  // namespace semel
