#include "engine/system_clock.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <ctime>

#include "base/random.h"
#include "base/sha256.h"

namespace semel::engine {

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

std::int64_t wall_nanoseconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

boost::asio::awaitable<void> SystemClock::sleep(Duration duration) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(duration);
  boost::system::error_code ignored;
  co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

Token SystemTokens::next() {
  Token token;
  base::fill_random(token.bytes.data(), token.bytes.size());
  return token;
}

Token mix_token(std::string_view fresh, const RecordId& id, std::int64_t wall,
                std::int64_t steady) {
  const std::array<std::int64_t, 2> times = {wall, steady};
  base::Sha256 hash;
  hash.update(fresh);
  hash.update({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
  hash.update({reinterpret_cast<const char*>(times.data()), sizeof times});
  const base::Sha256Digest digest = hash.finish();
  Token token;
  std::memcpy(token.bytes.data(), digest.data(), token.bytes.size());
  return token;
}

Token SystemTokens::next_for(const RecordId& id) {
  std::array<char, 32> fresh;
  base::fill_random(fresh.data(), fresh.size());
  return mix_token({fresh.data(), fresh.size()}, id,
                   std::chrono::system_clock::now().time_since_epoch().count(),
                   std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace semel::engine
