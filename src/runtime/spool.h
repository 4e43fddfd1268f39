#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/blocking_pool.h"
#include "core/fingerprint/body_hash.h"
#include "core/fingerprint/content_digest.h"
#include "stores/disk_space.h"

namespace semel::runtime {

// A request body larger than this is kept in a file while it is handled.
inline constexpr std::size_t kSpooledAboveBytes = 256 * 1024;

// Keeps bodies that are too large for memory in files, and has the threads that read and write
// them. The files have no name (or lose it at once), are readable by this user only, and are gone
// with their request.
class Spool {
 public:
  struct Options {
    std::string directory;
    std::uint64_t bytes_max = 0;       // of all bodies together
    std::uint64_t free_bytes_min = 0;  // that must stay free on the disk
  };
  explicit Spool(Options options);
  const std::string& directory() const { return options_.directory; }

  // Reserves room for this many more bytes, until give_back(). The error says why there is none.
  std::expected<void, std::string> take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { taken_ -= bytes; }
  // Checks whether take() would succeed now, without reserving anything.
  std::expected<void, std::string> has_room_for(std::uint64_t bytes) const;
  std::uint64_t taken_bytes() const { return taken_; }
  // For callers that find out by themselves that there is no room.
  void count_refused() { ++refused_; }
  // Returns how often there was no room.
  std::uint64_t refused() const { return refused_; }
  const stores::DiskSpace& disk() const { return disk_; }

  base::BlockingPool& pool() { return *pool_; }
  // Ends the threads. Call when no executor runs any longer, before the executors are destroyed.
  void stop() { pool_.reset(); }

 private:
  std::expected<void, std::string> check(std::uint64_t taken, std::uint64_t bytes) const;

  const Options options_;
  const stores::DiskSpace disk_;
  std::atomic<std::uint64_t> taken_ = 0;
  mutable std::atomic<std::uint64_t> refused_ = 0;
  std::unique_ptr<base::BlockingPool> pool_;
};

// The body of a keyed request, whole: in memory, or in a file of the spool. A large one is hashed
// while it is written. For one coroutine at a time; read() does not change it.
class RequestBody {
 public:
  // The body is going to be fingerprinted under `recipe` and compared with `promised`.
  RequestBody(Spool& spool, Recipe recipe, std::string content_type,
              std::optional<core::ContentDigest> promised);
  // A body that has already arrived and stays in memory.
  RequestBody(Spool& spool, std::string text);
  ~RequestBody();
  RequestBody(const RequestBody&) = delete;
  RequestBody& operator=(const RequestBody&) = delete;

  // Adds a piece. The error is for the log: the spool or the disk is full, or broken. The body must
  // not be used then.
  boost::asio::awaitable<std::expected<void, std::string>> append(std::string_view piece);
  // Adds a piece if the body stays in memory with it. Returns false if not: append() it.
  bool append_in_memory(std::string_view piece);
  // Call when the body is complete.
  boost::asio::awaitable<std::expected<void, std::string>> end();
  // Returns false if the body does not match its Content-Digest. Call once, after end().
  bool keeps_promise();

  std::uint64_t size() const { return file_bytes_ + memory_.size(); }
  std::size_t memory_bytes() const { return memory_.capacity(); }
  bool is_spooled() const { return file_ >= 0; }
  // Returns the whole body. Only if it is not spooled.
  const std::string& text() const { return memory_; }

  // Returns up to `bytes_max` bytes from `offset` on, fewer only at the end. The error is for the
  // log.
  boost::asio::awaitable<std::expected<std::string, std::string>> read(std::uint64_t offset,
                                                                       std::size_t bytes_max) const;

  // Both may block on the disk if the body is spooled: call them on the spool's pool then. They
  // throw std::runtime_error if the file cannot be read.
  base::Sha256Digest digest_under(const Recipe& recipe) const;
  std::string read_now(std::uint64_t offset, std::size_t bytes_max) const;

 private:
  boost::asio::awaitable<std::expected<void, std::string>> flush();
  std::expected<void, std::string> write_out();

  Spool& spool_;
  const Recipe recipe_;
  const std::string content_type_;
  std::optional<core::ContentDigest> promised_;
  std::optional<core::BodyHash> hash_;        // of a spooled body, while it arrives
  std::optional<base::Sha256Digest> digest_;  // under recipe_, as far as it needs no whole text
  std::string memory_;                        // the whole body, or the part not written yet
  int file_ = -1;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t taken_bytes_ = 0;  // of the spool
};

}  // namespace semel::runtime
