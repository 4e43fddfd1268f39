#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "auth/seal.h"
#include "stores/forwarding_store.h"

namespace semel::stores {

// Reads the keys from a file that only its owner can read. The error is a sentence for the
// operator.
std::expected<auth::SealingKeys, std::string> read_sealing_keys(const std::filesystem::path& file);

// Encrypts the content of another store at rest: the answer (status, headers, body), the queued
// request and the described members of every record, and all chunks. The record's identity, state,
// times, method and path stay readable, so that the store below can do its work.
//
// The record's id and the attempt's token are part of every seal: data that is put in another
// record's place does not open. A record that cannot be opened (its key is not in the file, its
// bytes were changed) is StoreUnavailable with `unreadable`, never absent, and stays as it is.
//
// sweep() and scan() return such a record sealed, so that expiry works without the key. swap()
// passes a sealed record on as it is.
class SealedStore final : public ForwardingStore {
 public:
  using ReadKeys = std::function<std::expected<auth::SealingKeys, std::string>()>;
  // `read_again` reads the keys again, for reload(). Its error is a sentence for the operator.
  SealedStore(std::unique_ptr<Store> inner, auth::SealingKeys keys, ReadKeys read_again);

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override;
  // Always null: the store below has the answer sealed.
  RecordPtr cached_completed(const RecordId&) override { return nullptr; }
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;
  boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                    std::size_t limit) override;
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override;
  boost::asio::awaitable<StoreResult<void>> put_chunk(RecordId id, Token token, std::uint32_t index,
                                                      std::string bytes) override;
  boost::asio::awaitable<StoreResult<std::optional<std::string>>> get_chunk(
      RecordId id, Token token, std::uint32_t index) override;
  // Any thread may call; later writes are sealed with the first of the new keys.
  std::expected<void, std::string> reload() override;

 private:
  std::shared_ptr<const auth::SealingKeys> keys() const;
  void close(Record& record) const;
  StoreResult<void> open(Record& record) const;
  // Returns the record itself if it is not sealed, else an opened copy.
  StoreResult<RecordPtr> opened(RecordPtr record) const;
  void open_what_opens(std::vector<RecordPtr>& records) const;

  const ReadKeys read_again_;
  mutable std::mutex mutex_;
  std::shared_ptr<const auth::SealingKeys> keys_;
};

}  // namespace semel::stores
