#include "engine/system.h"

#include <sys/random.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "base/sha256.h"

namespace semel {

// Asks the kernel every time. The next output of a generator in this process would be in its
// memory, and would come again after a snapshot of the machine is restored.
void fill_random(void* bytes, std::size_t size) {
  auto* out = static_cast<unsigned char*>(bytes);
  while (size > 0) {
    const ssize_t given = ::getrandom(out, size, 0);
    if (given < 0 && errno == EINTR) continue;
    if (given <= 0) throw std::runtime_error("the system gives no random bytes");
    out += given;
    size -= static_cast<std::size_t>(given);
  }
}

Time SystemClock::now() const {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady() const {
  return std::chrono::floor<Duration>(std::chrono::steady_clock::now());
}

SteadyTime SystemClock::since_boot() const {
  timespec at{};
  clock_gettime(CLOCK_BOOTTIME, &at);
  return SteadyTime(std::chrono::floor<Duration>(std::chrono::seconds(at.tv_sec) +
                                                 std::chrono::nanoseconds(at.tv_nsec)));
}

boost::asio::awaitable<void> SystemClock::sleep(Duration duration) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(duration);
  boost::system::error_code ignored;
  co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

Token SystemTokens::next() {
  Token token;
  fill_random(token.bytes.data(), token.bytes.size());
  return token;
}

// Hashes in the record and the time as well: if the kernel is not told that its machine was
// restored from a snapshot, it may give the same bytes again.
Token SystemTokens::next_for(const RecordId& id) {
  std::array<char, 32> fresh;
  fill_random(fresh.data(), fresh.size());
  const std::array<std::int64_t, 2> times = {
      std::chrono::system_clock::now().time_since_epoch().count(),
      std::chrono::steady_clock::now().time_since_epoch().count()};
  Sha256 hash;
  hash.update({fresh.data(), fresh.size()});
  hash.update({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
  hash.update({reinterpret_cast<const char*>(times.data()), sizeof times});
  const Sha256Digest digest = hash.finish();
  Token token;
  std::memcpy(token.bytes.data(), digest.data(), token.bytes.size());
  return token;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  fill_random(&number, sizeof number);
  return number;
}

}  // namespace semel
