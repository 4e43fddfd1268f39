#include "stores/embedded/store.h"

#include <atomic>
#include <utility>
#include <variant>

#include "base/blocking_pool.h"
#include "core/codec.h"
#include "stores/cache/local_cache.h"
#include "stores/disk_space.h"
#include "stores/embedded/commit_thread.h"
#include "stores/embedded/db.h"

namespace semel::stores {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReadThreads = 2;

using StoredOrStatus = std::expected<std::optional<Stored>, rocksdb::Status>;

SwapResult conflict(const RecordId& id, const std::optional<Stored>& current) {
  if (!current) return swap::Conflict{};
  auto record = decode_stored(id, *current);
  if (!record) return std::move(record).error();
  return swap::Conflict{*std::move(record)};
}

struct ToResult {
  const RecordId& id;
  SwapResult operator()(StoredConflict found) const { return conflict(id, found.current); }
  template <typename Reply>
  SwapResult operator()(Reply reply) const {
    return reply;
  }
};

std::string disk_is_low(const DiskSpace& disk) {
  return "no new keys are accepted: " + disk.describe();
}

asio::awaitable<StoreResult<void>> write_chunks(CommitThread& commits, WriteRequest request) {
  if (const auto why = commits.trouble()) co_return std::unexpected(StoreUnavailable{*why});
  SwapReply reply = co_await commits.write(std::move(request));
  if (auto* unavailable = std::get_if<StoreUnavailable>(&reply)) {
    co_return std::unexpected(std::move(*unavailable));
  }
  if (auto* unknown = std::get_if<swap::Unknown>(&reply)) {
    co_return std::unexpected(StoreUnavailable{std::move(unknown->why)});
  }
  co_return StoreResult<void>{};
}

class EmbeddedStore final : public Store {
 public:
  EmbeddedStore(std::unique_ptr<EmbeddedDb> db, const EmbeddedOptions& options)
      : disk_(std::make_unique<DiskSpace>(options.path, options.free_bytes_min)),
        db_(std::move(db)),
        answers_(std::make_unique<LocalCache>(options.answers_bytes_max, std::nullopt)),
        commits_(std::make_unique<CommitThread>(*db_, *answers_, options.committed)),
        reads_(std::make_unique<base::BlockingPool>("semel-read", kReadThreads)),
        backups_(std::make_unique<base::BlockingPool>("semel-backup", 1)) {}
  ~EmbeddedStore() override { gives_up_ = true; }

  asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override {
    if (const auto why = trouble()) co_return std::unexpected(StoreUnavailable{*why});
    StoredOrStatus found = db_->get(id, EmbeddedDb::Reach::memory);
    if (!found && found.error().IsIncomplete()) {
      auto from_disk = [db = db_.get(), id] { return db->get(id, EmbeddedDb::Reach::disk); };
      found = co_await reads_->run(from_disk);
    }
    if (!found) co_return std::unexpected(unreadable(id, found.error().ToString()));
    if (!*found) co_return nullptr;
    co_return decode_stored(id, **found);
  }

  // Only this process has the store open, so the last committed record is the current one.
  RecordPtr cached_completed(const RecordId& id) override {
    if (commits_->has_stopped()) return nullptr;
    return answers_->at_hand(id);
  }

  asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                   std::shared_ptr<Record> next) override;

  asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now, std::size_t limit) override {
    if (const auto why = trouble()) co_return std::unexpected(StoreUnavailable{*why});
    auto from_disk = [db = db_.get(), now, limit] { return db->sweep(now, limit); };
    co_return co_await reads_->run(from_disk);
  }

  asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                              std::size_t limit) override {
    if (const auto why = trouble()) co_return std::unexpected(StoreUnavailable{*why});
    auto from_disk = [db = db_.get(), after, limit] { return db->scan(after, limit); };
    co_return co_await reads_->run(from_disk);
  }

  asio::awaitable<StoreResult<void>> put_chunk(RecordId id, Token token, std::uint32_t index,
                                               std::string bytes) override {
    if (disk_->is_very_low()) co_return std::unexpected(StoreUnavailable{disk_is_low(*disk_)});
    PutChunk put{.id = id, .token = token, .index = index, .bytes = std::move(bytes)};
    co_return co_await write_chunks(*commits_, std::move(put));
  }

  asio::awaitable<StoreResult<void>> drop_chunks(RecordId id, Token token) override {
    DropChunks drop{.id = id, .token = token};
    co_return co_await write_chunks(*commits_, drop);
  }

  asio::awaitable<StoreResult<std::optional<std::string>>> get_chunk(RecordId id, Token token,
                                                                     std::uint32_t index) override {
    if (const auto why = trouble()) co_return std::unexpected(StoreUnavailable{*why});
    auto from_disk = [db = db_.get(), id, token, index] { return db->get_chunk(id, token, index); };
    auto found = co_await reads_->run(from_disk);
    if (!found) co_return std::unexpected(unreadable(id, found.error().ToString()));
    co_return std::move(*found);
  }

  StoreFeatures features() const override {
    return {
        .exclusive = true, .durable = true, .record_bytes_max = kRecordBytesMax, .chunks = true};
  }

  StoreStats stats() const override { return commits_->stats(); }

  std::optional<std::string> trouble() const override { return commits_->trouble(); }

  asio::awaitable<std::expected<StoreBackup, std::string>> backup(std::string to) override {
    if (const auto why = trouble()) co_return std::unexpected(*why);
    if (backs_up_.exchange(true)) {
      co_return std::unexpected("another backup is being made; wait until it is there");
    }
    auto make = [this, to = std::move(to)] {
      const struct Ends {
        std::atomic<bool>& flag;
        ~Ends() { flag = false; }
      } ends{backs_up_};
      return db_->backup(to, gives_up_);
    };
    co_return co_await backups_->run(std::move(make));
  }

 private:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  // Destroyed in reverse order: the threads end before the objects that they use.
  std::unique_ptr<DiskSpace> disk_;
  std::unique_ptr<EmbeddedDb> db_;
  std::unique_ptr<LocalCache> answers_;
  std::unique_ptr<CommitThread> commits_;
  std::unique_ptr<base::BlockingPool> reads_;
  std::atomic<bool> backs_up_ = false;
  GiveUp gives_up_ = false;
  std::unique_ptr<base::BlockingPool> backups_;
};

asio::awaitable<SwapResult> EmbeddedStore::swap(RecordId id, Version expected,
                                                std::shared_ptr<Record> next) {
  if (const auto why = trouble()) co_return StoreUnavailable{*why};

  // Whatever is visible is durable, and a caller can only know versions that were visible. So a
  // different version seen here is authoritative, and a duplicate does not queue behind the disk.
  std::uint64_t group = commits_->committed();
  const std::uint64_t changes = answers_->changes();
  std::optional<Head> in_progress;
  if (expected != 0) in_progress = commits_->in_progress_head(id);
  StoredOrStatus seen;
  if (!in_progress || in_progress->version != expected) {
    in_progress.reset();
    seen = db_->get(id, EmbeddedDb::Reach::memory);
    if (!seen && seen.error().IsIncomplete()) {
      group = commits_->committed();
      auto from_disk = [db = db_.get(), id] { return db->get(id, EmbeddedDb::Reach::disk); };
      seen = co_await reads_->run(from_disk);
    }
  }
  if (!seen) co_return unreadable(id, seen.error().ToString());
  const Head head = in_progress ? *in_progress : *seen ? (*seen)->head : Head{};
  if (head.version != expected) {
    SwapResult result = conflict(id, *seen);
    const auto* found = std::get_if<swap::Conflict>(&result);
    const bool replays = expected == 0 && found && found->current->state == RecordState::completed;
    // A copy, because others read the cached record.
    if (replays) answers_->read_since(changes, std::make_shared<const Record>(*found->current));
    co_return result;
  }

  // Existing records may still end: that costs little, and it was promised.
  if (expected == 0 && next && disk_->is_low()) co_return StoreUnavailable{disk_is_low(*disk_)};

  SwapRequest request{
      .id = id, .expected = expected, .next = {}, .seen = {group, head}, .drop_chunks = {}};
  if (*seen) {
    const auto chunks = core::spilled_under((*seen)->encoding);
    const bool goes_on =
        chunks && next && next->answer.body_note == BodyNote::spilled && next->token == *chunks;
    if (chunks && !goes_on) request.drop_chunks = chunks;
  }
  if (next) {
    Stored stored{.head = {.version = 0, .due = due_at(*next)}, .encoding = encode(*next)};
    if (stored.encoding.size() > kRecordBytesMax) co_return swap::TooLarge{kRecordBytesMax};
    if (next->state == RecordState::unknown) stored.head.unknown_since = next->updated_at;
    request.next = std::move(stored);
    request.in_progress =
        next->state == RecordState::in_progress && next->answer.body_note != BodyNote::spilled;
    if (next->state == RecordState::completed) request.completed = std::move(next);
  }
  SwapReply reply = co_await commits_->write(std::move(request));
  co_return std::visit(ToResult{id}, std::move(reply));
}

}  // namespace

std::expected<std::unique_ptr<Store>, std::string> open_embedded_store(
    const EmbeddedOptions& options) {
  auto db = EmbeddedDb::open(options);
  if (!db) return std::unexpected(std::move(db).error());
  return std::make_unique<EmbeddedStore>(*std::move(db), options);
}

}  // namespace semel::stores
