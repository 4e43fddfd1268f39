#include "stores/redis/store.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/random.h"
#include "stores/redis/thread.h"

namespace semel::stores {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

Version new_version() {
  Version version = 0;
  while (version == 0) version = base::random_number();
  return version;
}

std::string milliseconds(Time at) {
  return at == kNever ? std::string() : std::to_string(at.time_since_epoch().count());
}

class RedisStore final : public Store {
 public:
  RedisStore(std::unique_ptr<RedisThread> thread, RedisAnswered answered)
      : thread_(std::move(thread)), answered_(std::move(answered)) {}

  awaitable<StoreResult<RecordPtr>> read(RecordId id) override {
    auto work = asio::co_spawn(thread_->io(), thread_->read(id), asio::use_awaitable);
    co_return co_await std::move(work);
  }

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    std::string value;
    std::string due;
    std::string unknown_since;
    const Version version = next ? new_version() : 0;
    if (next) {
      value = redis::to_value(*next, version);
      if (value.size() > kRecordBytesMax) co_return swap::TooLarge{kRecordBytesMax};
      due = milliseconds(due_at(*next));
      if (next->state == RecordState::unknown) unknown_since = milliseconds(next->updated_at);
    }
    const auto asked = std::chrono::steady_clock::now();
    auto work = asio::co_spawn(
        thread_->io(),
        thread_->swap(id, expected, std::move(value), std::move(due), std::move(unknown_since)),
        asio::use_awaitable);
    SwapResult result = co_await std::move(work);
    if (answered_) answered_(std::chrono::steady_clock::now() - asked);
    if (auto* applied = std::get_if<swap::Applied>(&result)) applied->version = version;
    co_return result;
  }

  awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now, std::size_t limit) override {
    auto work = asio::co_spawn(thread_->io(), thread_->sweep(now, limit), asio::use_awaitable);
    co_return co_await std::move(work);
  }

  awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after, std::size_t limit) override {
    auto work = asio::co_spawn(thread_->io(), thread_->scan(after, limit), asio::use_awaitable);
    co_return co_await std::move(work);
  }

  awaitable<StoreResult<void>> put_chunk(RecordId id, Token token, std::uint32_t index,
                                         std::string bytes) override {
    auto work = asio::co_spawn(
        thread_->io(), thread_->put_chunk(id, token, index, std::move(bytes)), asio::use_awaitable);
    co_return co_await std::move(work);
  }

  awaitable<StoreResult<std::optional<std::string>>> get_chunk(RecordId id, Token token,
                                                               std::uint32_t index) override {
    auto work =
        asio::co_spawn(thread_->io(), thread_->get_chunk(id, token, index), asio::use_awaitable);
    co_return co_await std::move(work);
  }

  awaitable<StoreResult<void>> drop_chunks(RecordId id, Token token) override {
    auto work = asio::co_spawn(thread_->io(), thread_->drop_chunks(id, token), asio::use_awaitable);
    co_return co_await std::move(work);
  }

  awaitable<bool> ended(RecordId id, Token token, Duration timeout) override {
    auto work =
        asio::co_spawn(thread_->io(), thread_->ended(id, token, timeout), asio::use_awaitable);
    co_return co_await std::move(work);
  }

  StoreFeatures features() const override {
    return {
        .exclusive = false, .durable = true, .record_bytes_max = kRecordBytesMax, .chunks = true};
  }

  StoreStats stats() const override { return thread_->stats(); }

  StoreDoubts doubts() const override { return thread_->doubts(); }

  std::optional<std::string> trouble() const override { return thread_->trouble(); }

 private:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  std::unique_ptr<RedisThread> thread_;
  RedisAnswered answered_;
};

}  // namespace

std::expected<std::unique_ptr<Store>, std::string> open_redis_store(
    RedisConfig config, std::function<void(const std::string&)> warn, RedisAnswered answered,
    RedisFailed failed) {
  auto url = parse_redis_url(config.url);
  if (!url) return std::unexpected("the URL of Redis " + url.error());
  auto tls = redis::tls_for(*url, config);
  if (!tls) return std::unexpected(std::move(tls.error()));
  auto thread = std::make_unique<RedisThread>(std::move(config), *std::move(url), *std::move(tls),
                                              std::move(warn), std::move(failed));
  auto begun = thread->begin();
  if (!begun) return std::unexpected(std::move(begun.error()));
  return std::make_unique<RedisStore>(std::move(thread), std::move(answered));
}

}  // namespace semel::stores
