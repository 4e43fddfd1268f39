// Applied means: the write is in the file, and the file is synced. Memory follows the file, and
// never runs ahead of it. If the file fails in the middle of a write, nobody knows whether the
// write is in it: the store says so, and answers nothing more until it is opened again.
#include "file_store.h"

#include <fcntl.h>
#include <semel/driver/codec.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <tuple>

namespace example {

namespace asio = boost::asio;
using namespace semel;

namespace {

// The file is a sequence of frames, in the byte order of the machine:
//   frame = size:u32 checksum:u64 body
//   body  = kind:u8 id:32 bytes token:16 bytes number:u64 payload
constexpr std::size_t kHeadBytes = 4 + 8;
constexpr std::size_t kBodyBytesMin = 1 + 32 + 16 + 8;

std::uint64_t checksum(std::string_view bytes) {  // FNV-1a
  std::uint64_t sum = 14695981039346656037U;
  for (const char byte : bytes) {
    sum = (sum ^ static_cast<std::uint8_t>(byte)) * 1099511628211U;
  }
  return sum;
}

template <typename T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T take(std::string_view& in) {
  T value;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return value;
}

std::string system_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

std::expected<std::string, std::string> contents_of(int fd) {
  std::string bytes;
  char part[64 << 10];
  for (;;) {
    const ssize_t n = ::pread(fd, part, sizeof part, static_cast<off_t>(bytes.size()));
    if (n < 0) return std::unexpected(system_error("cannot read the file"));
    if (n == 0) return bytes;
    bytes.append(part, static_cast<std::size_t>(n));
  }
}

bool is_spilled(const RecordPtr& record) {
  return record && record->answer.body_note == BodyNote::spilled;
}

}  // namespace

std::expected<std::unique_ptr<FileStore>, std::string> FileStore::open(
    const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return std::unexpected(system_error("cannot open the file"));
  std::unique_ptr<FileStore> store(new FileStore(fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return std::unexpected("another process has the file open");
  }
  const int folder =
      ::open(absolute(file).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = folder >= 0 && ::fsync(folder) == 0;  // the file's name lasts as well
  if (folder >= 0) ::close(folder);
  if (!synced) return std::unexpected(system_error("cannot sync the folder"));
  if (auto loaded = store->load(); !loaded) return std::unexpected(loaded.error());
  return store;
}

FileStore::~FileStore() {
  ::close(fd_);
}

std::expected<void, std::string> FileStore::load() {
  const auto bytes = contents_of(fd_);
  if (!bytes) return std::unexpected(bytes.error());
  std::string_view rest = *bytes;
  while (!rest.empty()) {
    std::string_view frame = rest;
    if (frame.size() < kHeadBytes) break;
    const auto size = take<std::uint32_t>(frame);
    const auto sum = take<std::uint64_t>(frame);
    if (frame.size() < size) break;
    const auto entry =
        checksum(frame.substr(0, size)) == sum ? entry_of(frame.substr(0, size)) : std::nullopt;
    if (!entry && frame.size() == size) break;
    if (!entry) return std::unexpected("the file is damaged before its last write");
    if (auto done = remember(*entry); !done) return done;
    rest = frame.substr(size);
  }
  // The last write was cut short, and so was never Applied.
  if (!rest.empty() && (::ftruncate(fd_, static_cast<off_t>(bytes->size() - rest.size())) != 0 ||
                        ::fdatasync(fd_) != 0)) {
    return std::unexpected(system_error("cannot cut off an unfinished write"));
  }
  drop_orphans();
  return {};
}

// Chunks that no record refers to were made by a process that has ended: this one has just begun,
// and no other has the file open.
void FileStore::drop_orphans() {
  std::erase_if(chunks_, [&](const auto& chunks) {
    const auto& [id, token] = chunks.first;
    const auto found = records_.find(id);
    return found == records_.end() || !is_spilled(found->second) || found->second->token != token;
  });
}

// Memory changes in no other way, so that it is the same after a restart.
std::expected<void, std::string> FileStore::remember(const Entry& entry) {
  switch (entry.kind) {
    case Entry::Kind::put: {
      auto record = decode(entry.payload);
      if (!record) return std::unexpected("a record cannot be read: " + record.error());
      record->id = entry.id;
      record->version = last_version_ = entry.number;
      replace(entry.id, std::make_shared<const Record>(*std::move(record)));
      break;
    }
    case Entry::Kind::remove:
      replace(entry.id, nullptr);
      break;
    case Entry::Kind::put_chunk:
      chunks_[{entry.id, entry.token}][static_cast<std::uint32_t>(entry.number)] = entry.payload;
      break;
    case Entry::Kind::drop_chunks:
      chunks_.erase({entry.id, entry.token});
      break;
  }
  return {};
}

void FileStore::replace(const RecordId& id, RecordPtr next) {
  if (const auto found = records_.find(id); found != records_.end()) {
    const RecordPtr& old = found->second;
    const bool still_refers = is_spilled(next) && is_spilled(old) && next->token == old->token;
    if (is_spilled(old) && !still_refers) chunks_.erase({id, old->token});
    due_.erase({due_at(*old), id});
    unknown_.erase({old->updated_at, id});
    records_.erase(found);
  }
  if (!next) return;
  if (due_at(*next) != kNever) due_.emplace(due_at(*next), id);
  if (next->state == RecordState::unknown) unknown_.emplace(next->updated_at, id);
  records_.emplace(id, std::move(next));
}

// Returns false if nobody knows whether the entry is in the file.
bool FileStore::append(const Entry& entry) {
  const std::string frame = frame_of(entry);
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t n = ::write(fd_, frame.data() + done, frame.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) broken_ = system_error("cannot write to the file");
    if (n < 0) return false;
    done += static_cast<std::size_t>(n);
  }
  // After a failed sync, a second one may report success for data that is lost: never try again.
  if (::fdatasync(fd_) != 0) broken_ = system_error("cannot sync the file");
  if (broken_.empty()) {
    if (auto done = remember(entry); !done) broken_ = done.error();
  }
  return broken_.empty();
}

std::string FileStore::frame_of(const Entry& entry) {
  std::string body;
  put(body, entry.kind);
  put(body, entry.id.bytes);
  put(body, entry.token.bytes);
  put(body, entry.number);
  body += entry.payload;
  std::string frame;
  put(frame, static_cast<std::uint32_t>(body.size()));
  put(frame, checksum(body));
  return frame + body;
}

std::optional<FileStore::Entry> FileStore::entry_of(std::string_view body) {
  if (body.size() < kBodyBytesMin) return std::nullopt;
  Entry entry;
  entry.kind = take<Entry::Kind>(body);
  entry.id.bytes = take<decltype(entry.id.bytes)>(body);
  entry.token.bytes = take<decltype(entry.token.bytes)>(body);
  entry.number = take<std::uint64_t>(body);
  entry.payload = body;
  return entry;
}

asio::awaitable<StoreResult<RecordPtr>> FileStore::read(RecordId id) {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) co_return std::unexpected(StoreUnavailable{broken_});
  const auto found = records_.find(id);
  co_return found == records_.end() ? nullptr : found->second;
}

asio::awaitable<SwapResult> FileStore::swap(RecordId id, Version expected,
                                            std::shared_ptr<Record> next) {
  std::string encoding = next ? encode(*next) : "";
  if (encoding.size() > kRecordBytesMax) co_return swap::TooLarge{kRecordBytesMax};

  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) co_return StoreUnavailable{broken_};
  const auto found = records_.find(id);
  const RecordPtr current = found == records_.end() ? nullptr : found->second;
  if ((current ? current->version : 0) != expected) {
    // A copy: the caller may change it.
    co_return swap::Conflict{current ? std::make_shared<Record>(*current) : nullptr};
  }
  if (!next) {
    if (current && !append({.kind = Entry::Kind::remove, .id = id, .token = {}})) {
      co_return swap::Unknown{broken_};
    }
    co_return swap::Applied{};
  }
  const Version version = last_version_ + 1;
  if (!append({.kind = Entry::Kind::put,
               .id = id,
               .token = {},
               .number = version,
               .payload = std::move(encoding)})) {
    co_return swap::Unknown{broken_};
  }
  co_return swap::Applied{version};
}

asio::awaitable<StoreResult<std::vector<RecordPtr>>> FileStore::sweep(Time now, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) co_return std::unexpected(StoreUnavailable{broken_});
  std::vector<RecordPtr> records;
  for (const auto& [due, id] : due_) {
    if (due > now || records.size() == limit) break;
    records.push_back(records_.at(id));
  }
  co_return records;
}

asio::awaitable<StoreResult<ScanPage>> FileStore::scan(std::optional<RecordId> after,
                                                       std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) co_return std::unexpected(StoreUnavailable{broken_});
  ScanPage page;
  auto at = after ? records_.upper_bound(*after) : records_.begin();
  for (; at != records_.end() && page.records.size() < limit; ++at) {
    page.records.push_back(at->second);
  }
  if (at != records_.end() && !page.records.empty()) page.next = page.records.back()->id;
  co_return page;
}

asio::awaitable<StoreResult<void>> FileStore::put_chunk(RecordId id, Token token,
                                                        std::uint32_t index, std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty() || !append({.kind = Entry::Kind::put_chunk,
                                   .id = id,
                                   .token = token,
                                   .number = index,
                                   .payload = std::move(bytes)})) {
    co_return std::unexpected(StoreUnavailable{broken_});
  }
  co_return StoreResult<void>{};
}

asio::awaitable<StoreResult<std::optional<std::string>>> FileStore::get_chunk(RecordId id,
                                                                              Token token,
                                                                              std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) co_return std::unexpected(StoreUnavailable{broken_});
  const auto chunks = chunks_.find({id, token});
  if (chunks == chunks_.end()) co_return std::nullopt;
  const auto found = chunks->second.find(index);
  if (found == chunks->second.end()) co_return std::nullopt;
  co_return found->second;
}

asio::awaitable<StoreResult<void>> FileStore::drop_chunks(RecordId id, Token token) {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty() || !append({.kind = Entry::Kind::drop_chunks, .id = id, .token = token})) {
    co_return std::unexpected(StoreUnavailable{broken_});
  }
  co_return StoreResult<void>{};
}

StoreFeatures FileStore::features() const {
  return {.exclusive = true, .durable = true, .record_bytes_max = kRecordBytesMax, .chunks = true};
}

StoreStats FileStore::stats() const {
  const std::lock_guard lock(mutex_);
  StoreStats stats;
  stats.unknown_records = unknown_.size();
  if (!unknown_.empty()) stats.oldest_unknown = unknown_.begin()->first;
  return stats;
}

std::optional<std::string> FileStore::trouble() const {
  const std::lock_guard lock(mutex_);
  if (broken_.empty()) return std::nullopt;
  return broken_;
}

}  // namespace example
