#pragma once

#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "semel/driver/store.h"
#include "stores/embedded/db.h"
#include "stores/embedded/in_progress_heads.h"
#include "stores/embedded/layout.h"

namespace semel::stores {

// The head that a caller has read, and the last group that was committed before that read.
struct Sighting {
  std::uint64_t group = 0;
  Head head;  // version 0: absent
};

// A swap as the writer sees it: bytes, a version and two times.
struct SwapRequest {
  RecordId id;
  Version expected = 0;
  std::optional<Stored> next;  // its version is ignored; nullopt removes the record
  Sighting seen;
  bool in_progress = false;  // `next` is in progress and has no chunks
  // The chunks of the replaced record, to be removed in the same write.
  std::optional<Token> drop_chunks = {};
  // `next` itself if it is completed, so that later readers need not decode it.
  std::shared_ptr<Record> completed = {};
};

struct PutChunk {
  RecordId id;
  Token token;
  std::uint32_t index = 0;
  std::string bytes;
};
struct DropChunks {
  RecordId id;
  Token token;
};
using WriteRequest = std::variant<SwapRequest, PutChunk, DropChunks>;

// Like swap::Conflict, but not decoded yet.
struct StoredConflict {
  std::optional<Stored> current;
};
using SwapReply = std::variant<swap::Applied, StoredConflict, StoreUnavailable, swap::Unknown>;

// Turns a group of swaps into one write: apply() each in order, then commit(). For one thread; any
// thread may call committed(), in_progress_head() and stats().
class EmbeddedWriter {
 public:
  explicit EmbeddedWriter(EmbeddedDb& db);

  // Returns the result that the swap has once commit() is OK, given the database and the group so
  // far. `request` must stay in place until then.
  SwapReply apply(const SwapRequest& request);
  // These are always applied.
  SwapReply apply(const PutChunk& request);
  SwapReply apply(const DropChunks& request);

  // OK: the group is durable, and the next one begins. Any other status: it is unknown whether the
  // group was written, and the writer must not be used again.
  rocksdb::Status commit();

  // Returns the head of a record in progress, no older than committed(); nullopt: read the record.
  std::optional<Head> in_progress_head(const RecordId& id) const {
    return in_progress_heads_.find(id);
  }
  // Returns the last group whose writes every later read sees.
  std::uint64_t committed() const { return committed_.load(std::memory_order_acquire); }
  StoreStats stats() const;

 private:
  // A record as a group has left it. The encoding belongs to the request and is gone after the
  // group.
  struct Latest {
    std::uint64_t group = 0;
    Head head;                 // version 0: removed
    bool in_progress = false;  // as in SwapRequest
    const std::string* encoding = nullptr;
  };
  using Touched = std::unordered_map<RecordId, Latest>;

  std::expected<Head, rocksdb::Status> current(const SwapRequest& request) const;
  SwapReply conflict(const RecordId& id) const;
  const Latest* latest(const RecordId& id) const;
  void touch(const RecordId& id, Latest latest);
  void publish_in_progress();
  Version next_version();
  void move_index(Index index, const RecordId& id, Time from, Time to);
  void update_stats();
  void begin_group();

  EmbeddedDb& db_;
  Version next_version_;
  Version version_limit_;
  std::atomic<std::uint64_t> committed_ = 0;
  InProgressHeads in_progress_heads_;

  // The records that the groups from `remembered_since_` on have touched. A sighting that is not
  // older, of a record that is not here, still holds, so this thread need not read.
  Touched young_;
  Touched old_;
  std::uint64_t young_since_ = 1;
  std::uint64_t remembered_since_ = 1;

  // The current group.
  std::uint64_t group_ = 1;
  rocksdb::WriteBatch batch_;
  std::vector<RecordId> touched_;
  Time earliest_due_ = kNever;
  Time earliest_unknown_ = kNever;
  std::int64_t unknown_more_ = 0;
  bool unknown_touched_ = false;

  mutable std::mutex stats_mutex_;
  StoreStats stats_;
};

}  // namespace semel::stores
