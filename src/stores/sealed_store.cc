// The promise: the bytes of an answer or of a request's body are never in the store below
// unencrypted, and a record that does not open is never taken for an absent one. If the second were
// broken, losing a key file would let everything be executed again.
#include "stores/sealed_store.h"

#include <utility>

#include "base/private_file.h"
#include "base/random.h"
#include "base/varint.h"
#include "core/codec.h"

namespace semel::stores {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kKeyFileBytesMax = 1 << 20;

// Returns the associated data of a seal, so that sealed bytes cannot be put in another's place.
std::string associated(std::string_view what, const RecordId& id, const Token& token) {
  std::string out(what);
  out.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
  out.append(reinterpret_cast<const char*>(token.bytes.data()), token.bytes.size());
  return out;
}

std::string associated_with_record(const Record& record) {
  return associated("record", record.id, record.token);
}

std::string associated_with_chunk(const RecordId& id, const Token& token, std::uint32_t index) {
  std::string out = associated("chunk", id, token);
  base::append_varint(index, out);
  return out;
}

auth::SealNonce new_nonce() {
  auth::SealNonce nonce;
  base::fill_random(nonce.data(), nonce.size());
  return nonce;
}

StoreUnavailable cannot_open(const std::string& what, std::string why) {
  return {.why = what + " " + std::move(why), .unreadable = true};
}

StoreResult<std::string> unseal_with(const auth::SealingKeys& keys, std::string_view key_id,
                                     std::string_view associated_data, std::string_view sealed,
                                     const std::string& what) {
  const auth::SealingKey* key = keys.find(key_id);
  if (!key) {
    return std::unexpected(cannot_open(
        what, "is sealed with key '" + std::string(key_id) + "', which is not in keys_file"));
  }
  auto plain = auth::unseal(*key, associated_data, sealed);
  if (!plain) {
    return std::unexpected(cannot_open(what, "does not open with key '" + std::string(key_id) +
                                                 "': it was changed since it was sealed"));
  }
  return *std::move(plain);
}

}  // namespace

std::expected<auth::SealingKeys, std::string> read_sealing_keys(const std::filesystem::path& file) {
  const auto text = base::read_private_file(file.string(), kKeyFileBytesMax);
  if (!text) return std::unexpected("keys_file " + text.error());
  auto keys = auth::SealingKeys::parse(*text);
  if (!keys) return std::unexpected("keys_file " + file.string() + ": " + keys.error());
  return keys;
}

SealedStore::SealedStore(std::unique_ptr<Store> inner, auth::SealingKeys keys, ReadKeys read_again)
    : ForwardingStore(std::move(inner)),
      read_again_(std::move(read_again)),
      keys_(std::make_shared<const auth::SealingKeys>(std::move(keys))) {}

std::expected<void, std::string> SealedStore::reload() {
  auto read = read_again_();
  if (!read) return std::unexpected(std::move(read.error()));
  auto fresh = std::make_shared<const auth::SealingKeys>(*std::move(read));
  if (auto below = ForwardingStore::reload(); !below) return below;
  const std::lock_guard lock(mutex_);
  keys_ = std::move(fresh);
  return {};
}

std::shared_ptr<const auth::SealingKeys> SealedStore::keys() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

void SealedStore::close(Record& record) const {
  if (!core::has_content(record)) return;
  const auto all = keys();
  const auth::SealingKey& key = all->for_writing();
  record.sealed.key_id = key.id;
  record.sealed.bytes =
      auth::seal(key, new_nonce(), associated_with_record(record), core::encode_content(record));
  record.answer.status = 0;
  record.answer.headers.clear();
  record.answer.body.clear();
  record.request.clear();
  record.description.members.clear();
}

StoreResult<void> SealedStore::open(Record& record) const {
  if (record.sealed.key_id.empty()) return {};
  const std::string what = "record " + record.id.hex();
  auto plain = unseal_with(*keys(), record.sealed.key_id, associated_with_record(record),
                           record.sealed.bytes, what);
  if (!plain) return std::unexpected(std::move(plain.error()));
  if (!core::decode_content(*plain, record)) {
    return std::unexpected(cannot_open(what, "does not contain a record's content"));
  }
  record.sealed = {};
  return {};
}

StoreResult<RecordPtr> SealedStore::opened(RecordPtr record) const {
  if (record->sealed.key_id.empty()) return record;
  auto copy = std::make_shared<Record>(*record);
  if (auto done = open(*copy); !done) return std::unexpected(std::move(done.error()));
  return copy;
}

void SealedStore::open_what_opens(std::vector<RecordPtr>& records) const {
  for (RecordPtr& record : records) {
    // A record that does not open stays sealed: whoever needs its content reads it and gets the
    // error.
    if (auto open_copy = opened(record)) record = *std::move(open_copy);
  }
}

asio::awaitable<StoreResult<RecordPtr>> SealedStore::read(RecordId id) {
  auto found = co_await inner().read(id);
  if (!found || !*found) co_return found;
  co_return opened(*std::move(found));
}

asio::awaitable<SwapResult> SealedStore::swap(RecordId id, Version expected,
                                              std::shared_ptr<Record> next) {
  std::shared_ptr<Record> closed;
  if (next) {
    closed = std::make_shared<Record>(*next);
    closed->id = id;
    close(*closed);
  }
  SwapResult result = co_await inner().swap(id, expected, std::move(closed));
  std::shared_ptr<Record> current;
  if (auto* conflict = std::get_if<swap::Conflict>(&result)) current = conflict->current;
  if (auto* busy = std::get_if<swap::Busy>(&result)) current = busy->current;
  if (current) {
    if (auto done = open(*current); !done) co_return std::move(done.error());
  }
  co_return result;
}

asio::awaitable<StoreResult<std::vector<RecordPtr>>> SealedStore::sweep(Time now,
                                                                        std::size_t limit) {
  auto records = co_await inner().sweep(now, limit);
  if (records) open_what_opens(*records);
  co_return records;
}

asio::awaitable<StoreResult<ScanPage>> SealedStore::scan(std::optional<RecordId> after,
                                                         std::size_t limit) {
  auto page = co_await inner().scan(after, limit);
  if (page) open_what_opens(page->records);
  co_return page;
}

// A sealed chunk begins with the id of its key.
asio::awaitable<StoreResult<void>> SealedStore::put_chunk(RecordId id, Token token,
                                                          std::uint32_t index, std::string bytes) {
  const auto all = keys();
  const auth::SealingKey& key = all->for_writing();
  std::string out;
  base::append_sized(key.id, out);
  out += auth::seal(key, new_nonce(), associated_with_chunk(id, token, index), bytes);
  co_return co_await inner().put_chunk(id, token, index, std::move(out));
}

asio::awaitable<StoreResult<std::optional<std::string>>> SealedStore::get_chunk(
    RecordId id, Token token, std::uint32_t index) {
  auto found = co_await inner().get_chunk(id, token, index);
  if (!found || !*found) co_return found;
  std::string_view rest = **found;
  const std::string what = "a chunk of record " + id.hex();
  // Ids are at most 64 bytes long, so their length is one byte.
  const std::size_t id_bytes = rest.empty() ? 0 : static_cast<std::uint8_t>(rest.front());
  if (rest.size() < 1 + id_bytes) co_return std::unexpected(cannot_open(what, "is not sealed"));
  auto plain =
      unseal_with(*keys(), rest.substr(1, id_bytes), associated_with_chunk(id, token, index),
                  rest.substr(1 + id_bytes), what);
  if (!plain) co_return std::unexpected(std::move(plain.error()));
  co_return *std::move(plain);
}

}  // namespace semel::stores
