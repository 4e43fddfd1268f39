#include "engine/system.h"

#include <openssl/rand.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <stdexcept>

namespace semel {

void fill_random(void* bytes, std::size_t size) {
  if (RAND_bytes(static_cast<unsigned char*>(bytes), static_cast<int>(size)) != 1) {
    throw std::runtime_error("the system gives no random bytes");
  }
}

Time SystemClock::now() const {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady() const {
  return std::chrono::floor<Duration>(std::chrono::steady_clock::now());
}

boost::asio::awaitable<void> SystemClock::sleep(Duration duration) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(duration);
  boost::system::error_code ignored;
  co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

// Tokens are drawn many at a time: asking for 16 bytes costs nearly as much as asking for 4096.
Token SystemTokens::next() {
  struct Drawn {
    std::array<std::uint8_t, 4096> bytes;
    std::size_t used = sizeof bytes;
  };
  thread_local Drawn drawn;
  Token token;
  if (drawn.used + sizeof token.bytes > drawn.bytes.size()) {
    fill_random(drawn.bytes.data(), drawn.bytes.size());
    drawn.used = 0;
  }
  std::memcpy(token.bytes.data(), drawn.bytes.data() + drawn.used, sizeof token.bytes);
  drawn.used += sizeof token.bytes;
  return token;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  fill_random(&number, sizeof number);
  return number;
}

}  // namespace semel
