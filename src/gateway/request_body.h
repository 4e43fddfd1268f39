#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "core/body_hash.h"
#include "core/content_digest.h"
#include "stores/blocking_pool.h"

namespace semel {

// A request's body of more than this lies in a file while it is handled.
inline constexpr std::size_t kSpooledAboveBytes = 256 * 1024;

// Where bodies go that are too large for memory, and the threads that read and write them. The
// files have no name (or lose it at once), are readable by this user only, and go with their
// request.
class Spool {
 public:
  explicit Spool(std::string directory);
  const std::string& directory() const { return directory_; }
  BlockingPool& pool() { return *pool_; }
  // Ends the threads. To be called when no executor runs any longer, before they are destroyed.
  void stop() { pool_.reset(); }

 private:
  std::string directory_;
  std::unique_ptr<BlockingPool> pool_;
};

// The body of a keyed request, whole: in memory, or in a file of the spool. A large one is hashed
// while it is written. For one coroutine at a time; what is read() does not change it.
class RequestBody {
 public:
  // `recipe` is what it is going to be fingerprinted under; `promised` is held against it.
  RequestBody(Spool& spool, Recipe recipe, std::string content_type,
              std::optional<ContentDigest> promised);
  // A body that is here already and stays in memory.
  RequestBody(Spool& spool, std::string text);
  ~RequestBody();
  RequestBody(const RequestBody&) = delete;
  RequestBody& operator=(const RequestBody&) = delete;

  // The error is for the log: the disk is full or broken. Nothing may be done with the body then.
  boost::asio::awaitable<std::expected<void, std::string>> append(std::string_view piece);
  // The same for a piece with which it stays in memory; false: append() it.
  bool append_in_memory(std::string_view piece);
  // The body is whole.
  boost::asio::awaitable<std::expected<void, std::string>> end();
  // False: it is not the body that its Content-Digest speaks of. To be asked once, after end().
  bool keeps_promise();

  std::uint64_t size() const { return file_bytes_ + memory_.size(); }
  std::size_t memory_bytes() const { return memory_.capacity(); }
  bool is_spooled() const { return file_ >= 0; }
  // The whole body. Only if it is not spooled.
  const std::string& text() const { return memory_; }

  // Up to `bytes_max` bytes from `offset` on, fewer only at the end. The error is for the log.
  boost::asio::awaitable<std::expected<std::string, std::string>> read(std::uint64_t offset,
                                                                       std::size_t bytes_max) const;

  // Both may wait for the disk if it is spooled: to be called on the spool's pool then. They throw
  // std::runtime_error if the file cannot be read.
  Sha256Digest digest_under(const Recipe& recipe) const;
  std::string read_now(std::uint64_t offset, std::size_t bytes_max) const;

 private:
  boost::asio::awaitable<std::expected<void, std::string>> flush();
  std::expected<void, std::string> write_out();

  Spool& spool_;
  const Recipe recipe_;
  const std::string content_type_;
  std::optional<ContentDigest> promised_;
  std::optional<BodyHash> hash_;        // of a spooled body, while it arrives
  std::optional<Sha256Digest> digest_;  // under recipe_, as far as it needs no whole text
  std::string memory_;                  // all of it, or what is not written yet
  int file_ = -1;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace semel
