#pragma once

#include <semel/driver/store.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <set>

namespace example {

// A store in one file, for one process. Every write is appended to the file and synced before it
// counts; everything is in memory as well. The file never gets smaller: a store for more than an
// example would write it anew from time to time. Calls block while the disk is busy.
class FileStore final : public semel::Store {
 public:
  static constexpr std::size_t kRecordBytesMax = 16 << 20;

  // Opens the file, or makes it. The error is a sentence for the operator.
  static std::expected<std::unique_ptr<FileStore>, std::string> open(
      const std::filesystem::path& file);
  ~FileStore() override;

  boost::asio::awaitable<semel::StoreResult<semel::RecordPtr>> read(semel::RecordId id) override;
  boost::asio::awaitable<semel::SwapResult> swap(semel::RecordId id, semel::Version expected,
                                                 std::shared_ptr<semel::Record> next) override;
  boost::asio::awaitable<semel::StoreResult<std::vector<semel::RecordPtr>>> sweep(
      semel::Time now, std::size_t limit) override;
  boost::asio::awaitable<semel::StoreResult<semel::ScanPage>> scan(
      std::optional<semel::RecordId> after, std::size_t limit) override;

  boost::asio::awaitable<semel::StoreResult<void>> put_chunk(semel::RecordId id, semel::Token token,
                                                             std::uint32_t index,
                                                             std::string bytes) override;
  boost::asio::awaitable<semel::StoreResult<std::optional<std::string>>> get_chunk(
      semel::RecordId id, semel::Token token, std::uint32_t index) override;
  boost::asio::awaitable<semel::StoreResult<void>> drop_chunks(semel::RecordId id,
                                                               semel::Token token) override;

  semel::StoreFeatures features() const override;
  semel::StoreStats stats() const override;
  std::optional<std::string> trouble() const override;

 private:
  // One write, as it stands in the file.
  struct Entry {
    enum class Kind : std::uint8_t { put = 1, remove = 2, put_chunk = 3, drop_chunks = 4 };
    Kind kind = Kind::put;
    semel::RecordId id;
    semel::Token token;        // of chunks
    std::uint64_t number = 0;  // the version of a record, the index of a chunk
    std::string payload = {};  // the encoding of a record, the bytes of a chunk
  };
  using ChunksKey = std::pair<semel::RecordId, semel::Token>;

  explicit FileStore(int fd) : fd_(fd) {}

  std::expected<void, std::string> load();
  std::expected<void, std::string> remember(const Entry& entry);
  void replace(const semel::RecordId& id, semel::RecordPtr next);
  void drop_orphans();
  bool append(const Entry& entry);

  static std::string frame_of(const Entry& entry);
  static std::optional<Entry> entry_of(std::string_view body);

  const int fd_;
  mutable std::mutex mutex_;
  std::string broken_;  // why the file takes no more writes; empty: it does
  std::map<semel::RecordId, semel::RecordPtr> records_;
  std::set<std::pair<semel::Time, semel::RecordId>> due_;
  std::set<std::pair<semel::Time, semel::RecordId>> unknown_;
  std::map<ChunksKey, std::map<std::uint32_t, std::string>> chunks_;
  semel::Version last_version_ = 0;  // of the whole store, so that no id ever sees a version twice
};

}  // namespace example
