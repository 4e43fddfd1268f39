// If a spooled body were cut short or read back changed, the executor would get a request other
// than the one that was fingerprinted; so every error of the file ends the request unexecuted.
#include "runtime/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace semel::runtime {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kSpoolThreads = 2;
constexpr std::size_t kHashPieceBytes = 256 * 1024;

std::string because(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

int open_nameless(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  // The file system has no nameless files; this one loses its name at once.
  std::string path = directory + "/.semel-spool-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

}  // namespace

Spool::Spool(Options options)
    : options_(std::move(options)),
      disk_(options_.directory, options_.free_bytes_min),
      pool_(std::make_unique<base::BlockingPool>("semel-spool", kSpoolThreads)) {}

std::expected<void, std::string> Spool::check(std::uint64_t taken, std::uint64_t bytes) const {
  if (taken + bytes > options_.bytes_max) {
    ++refused_;
    return std::unexpected("the spool is full: spool.bytes_max is " +
                           std::to_string(options_.bytes_max));
  }
  if (!disk_.has_room_for(bytes)) {
    ++refused_;
    return std::unexpected("the spool accepts no more: " + disk_.describe());
  }
  return {};
}

std::expected<void, std::string> Spool::take(std::uint64_t bytes) {
  const std::uint64_t before = taken_.fetch_add(bytes);
  auto checked = check(before, bytes);
  if (!checked) give_back(bytes);
  return checked;
}

std::expected<void, std::string> Spool::has_room_for(std::uint64_t bytes) const {
  return check(taken_, bytes);
}

RequestBody::RequestBody(Spool& spool, Recipe recipe, std::string content_type,
                         std::optional<core::ContentDigest> promised)
    : spool_(spool),
      recipe_(std::move(recipe)),
      content_type_(std::move(content_type)),
      promised_(std::move(promised)) {}

RequestBody::RequestBody(Spool& spool, std::string text)
    : spool_(spool), memory_(std::move(text)) {}

RequestBody::~RequestBody() {
  if (file_ >= 0) ::close(file_);
  spool_.give_back(taken_bytes_);  // after closing the file has freed its space on the disk
}

bool RequestBody::append_in_memory(std::string_view piece) {
  if (memory_.size() + piece.size() > kSpooledAboveBytes) return false;
  memory_.append(piece);
  return true;
}

awaitable<std::expected<void, std::string>> RequestBody::append(std::string_view piece) {
  if (append_in_memory(piece)) co_return std::expected<void, std::string>{};
  memory_.append(piece);
  co_return co_await flush();
}

awaitable<std::expected<void, std::string>> RequestBody::end() {
  if (!is_spooled()) {
    if (promised_) promised_->update(memory_);
    co_return std::expected<void, std::string>{};
  }
  auto written = co_await flush();
  memory_ = {};
  if (written) digest_ = hash_->finish();
  co_return written;
}

bool RequestBody::keeps_promise() {
  return !promised_ || promised_->matches();
}

awaitable<std::expected<void, std::string>> RequestBody::flush() {
  auto write = [this] { return write_out(); };
  co_return co_await spool_.pool().run(write);
}

std::expected<void, std::string> RequestBody::write_out() {
  if (auto taken = spool_.take(memory_.size()); !taken) return taken;
  taken_bytes_ += memory_.size();
  if (!is_spooled()) {
    file_ = open_nameless(spool_.directory());
    if (file_ < 0) return std::unexpected(because("cannot create a file for a request's body"));
    hash_.emplace(recipe_, content_type_);
  }
  std::string_view rest = memory_;
  while (!rest.empty()) {
    const ssize_t n = ::pwrite(file_, rest.data(), rest.size(), static_cast<off_t>(file_bytes_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::unexpected(because("cannot write a request's body"));
    const auto written = rest.substr(0, static_cast<std::size_t>(n));
    hash_->update(written);
    if (promised_) promised_->update(written);
    file_bytes_ += written.size();
    rest.remove_prefix(written.size());
  }
  memory_.clear();
  return {};
}

std::string RequestBody::read_now(std::uint64_t offset, std::size_t bytes_max) const {
  if (!is_spooled()) return memory_.substr(std::min<std::uint64_t>(offset, size()), bytes_max);
  std::string out(std::min<std::uint64_t>(bytes_max, size() - std::min(offset, size())), '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(file_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::runtime_error(because("cannot read back a request's body"));
    if (n == 0) throw std::runtime_error("a request's body is shorter than what was written");
    done += static_cast<std::size_t>(n);
  }
  return out;
}

awaitable<std::expected<std::string, std::string>> RequestBody::read(std::uint64_t offset,
                                                                     std::size_t bytes_max) const {
  if (!is_spooled()) co_return read_now(offset, bytes_max);
  auto from_file = [this, offset, bytes_max]() -> std::expected<std::string, std::string> {
    try {
      return read_now(offset, bytes_max);
    } catch (const std::runtime_error& error) {
      return std::unexpected(error.what());
    }
  };
  co_return co_await spool_.pool().run(from_file);
}

base::Sha256Digest RequestBody::digest_under(const Recipe& recipe) const {
  if (!is_spooled()) return core::body_digest(recipe, content_type_, memory_);
  if (core::needs_whole_body(recipe.body, size())) {
    return core::body_digest(recipe, content_type_, read_now(0, static_cast<std::size_t>(size())));
  }
  const bool is_same = recipe.body == recipe_.body && recipe.version == recipe_.version;
  if (is_same && digest_) return *digest_;
  core::BodyHash hash(recipe, content_type_);
  for (std::uint64_t at = 0; at < size(); at += kHashPieceBytes) {
    hash.update(read_now(at, kHashPieceBytes));
  }
  return hash.finish();
}

}  // namespace semel::runtime
