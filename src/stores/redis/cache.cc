#include "stores/redis/cache.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>
#include <utility>

#include "engine/spawn.h"
#include "stores/redis/nodes.h"

namespace semel::stores {
namespace asio = boost::asio;
using asio::awaitable;
using redis::CallResult;
using redis::Command;

namespace {

// If a lookup takes longer than this, the authoritative store is asked instead.
constexpr Duration kFindTimeout = std::chrono::milliseconds(50);
// How long a server that was too slow is not asked.
constexpr auto kRestFor = std::chrono::seconds(1);
constexpr auto kCacheCloseTimeout = std::chrono::seconds(3);  // longer than connecting may take
constexpr std::size_t kRecordBytesMax = 4 << 20;
// Memory per command beside its value.
constexpr std::size_t kCommandBytes = 1024;
// A request may be answered while the news of it is still on its way to the cache. Whoever asks
// elsewhere meanwhile must not be told for long that it is in progress.
constexpr Duration kRunningKeptFor = std::chrono::milliseconds(250);

}  // namespace

class RedisCache::Impl {
 public:
  Impl(RedisConfig config, RedisUrl url, std::shared_ptr<const http::TlsClient> tls,
       Duration kept_for, std::function<void(const std::string&)> warn)
      : config_(std::move(config)),
        kept_for_(kept_for),
        deadlines_(io_.get_executor()),
        common_{.executor = io_.get_executor(),
                .deadlines = deadlines_,
                .url = std::move(url),
                .tls = std::move(tls),
                .replicas = 0,
                .is_cluster = !config_.cluster.empty(),
                .is_cache = true,
                .warn = std::move(warn)},
        nodes_(common_, config_) {
    asio::co_spawn(io_, deadlines_.run(), engine::OrStop{"watching the cache"});
    asio::co_spawn(io_, begin(), engine::OrReport{"beginning with the cache"});
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "semel-cache");
      io_.run();
    });
  }

  ~Impl() {
    asio::post(io_, [this] { io_.stop(); });
    thread_.join();
    io_.restart();
    nodes_.close();
    redis::close_all(common_);
    deadlines_.stop();
    io_.run_for(kCacheCloseTimeout);
  }

  asio::io_context& io() { return io_; }

  // Returns how much longer the record may be returned; not positive: no longer.
  Duration left_for(RecordState state, Duration age) const { return length_for(state) - age; }

  // Any thread. Does nothing if too much waits already.
  void put(RecordId id, std::string value, Duration length) {
    const std::size_t bytes = value.size() + kCommandBytes;
    if (pending_bytes_.fetch_add(bytes) + bytes > kPendingBytesMax) {
      pending_bytes_.fetch_sub(bytes);
      return;
    }
    asio::co_spawn(io_, send(id, std::move(value), length),
                   [this, bytes](const std::exception_ptr& failed) {
                     engine::OrReport{"keeping a copy in Redis"}(failed);
                     pending_bytes_.fetch_sub(bytes);
                   });
  }

  std::size_t pending_bytes() const { return pending_bytes_; }
  Duration kept_for() const { return kept_for_; }

  // On the cache's thread.
  awaitable<RecordPtr> find(RecordId id, Time now) {
    if (std::chrono::steady_clock::now() < rests_until_) co_return nullptr;
    // A call cannot be cancelled; one that takes too long is left to end by itself.
    struct Asked {
      asio::steady_timer patience;
      std::optional<CallResult> result = {};
    };
    auto asked = std::make_shared<Asked>(asio::steady_timer(io_, kFindTimeout));
    Command get{.bucket = redis::bucket_of(id), .arguments = {"GET", redis::cached_key(id)}};
    asio::co_spawn(io_, nodes_.call(std::move(get)),
                   [asked](const std::exception_ptr& failed, CallResult result) {
                     if (failed) return engine::OrReport{"reading a copy in Redis"}(failed);
                     asked->result = std::move(result);
                     asked->patience.cancel();
                   });
    boost::system::error_code ignored;
    co_await asked->patience.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (!asked->result) {
      rests_until_ = std::chrono::steady_clock::now() + kRestFor;
      co_return nullptr;
    }
    const CallResult& result = *asked->result;
    if (!result || result->reply.is_nil()) co_return nullptr;
    auto copy = redis::from_cached(id, result->reply.text());
    // The copy may have been held up on its way to the server, which makes it no younger.
    if (!copy || !copy->record || left_for(copy->record->state, now - copy->asked_at) <= Duration{})
      co_return nullptr;
    co_return std::move(copy->record);
  }

 private:
  Duration length_for(RecordState state) const {
    return state == RecordState::in_progress ? std::min(kept_for_, kRunningKeptFor) : kept_for_;
  }

  awaitable<void> send(RecordId id, std::string value, Duration length) {
    Command fill{.bucket = redis::bucket_of(id),
                 .script = &redis::fill_script(),
                 .arguments = {"1", redis::cached_key(id), std::move(value),
                               std::to_string(length.count())}};
    (void)co_await nodes_.call(std::move(fill));
  }

  awaitable<void> begin() {
    const auto started = co_await nodes_.start();
    if (!started)
      common_.warn("the cache is unavailable, so every read goes to the store: " + started.error());
    nodes_.keep();
  }

  const RedisConfig config_;
  const Duration kept_for_;
  asio::io_context io_{1};
  http::Deadlines deadlines_;
  redis::Common common_;
  redis::Nodes nodes_;
  std::chrono::steady_clock::time_point rests_until_{};
  std::atomic<std::size_t> pending_bytes_ = 0;
  std::thread thread_;
};

std::expected<std::unique_ptr<RedisCache>, std::string> RedisCache::open(
    RedisConfig config, Duration kept_for, std::function<void(const std::string&)> warn) {
  auto url = parse_redis_url(config.url);
  if (!url) return std::unexpected("the URL of Redis " + url.error());
  auto tls = redis::tls_for(*url, config);
  if (!tls) return std::unexpected(std::move(tls.error()));
  return std::unique_ptr<RedisCache>(new RedisCache(std::make_unique<Impl>(
      std::move(config), *std::move(url), *std::move(tls), kept_for, std::move(warn))));
}

RedisCache::RedisCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RedisCache::~RedisCache() = default;

awaitable<RecordPtr> RedisCache::find(RecordId id, Time now) {
  auto work = asio::co_spawn(impl_->io(), impl_->find(id, now), asio::use_awaitable);
  co_return co_await std::move(work);
}

awaitable<void> RedisCache::keep(Record record, Asked asked) {
  const auto age = std::chrono::steady_clock::now() - asked.since;
  const Duration left = impl_->left_for(record.state, std::chrono::ceil<Duration>(age));
  if (left <= Duration{}) co_return;
  std::string value = redis::to_cached(record, asked.at);
  if (value.size() > kRecordBytesMax) co_return;
  impl_->put(record.id, std::move(value), left);
}

// Leaves a mark in the record's place; otherwise a copy that is still on its way would arrive later
// and stay.
awaitable<void> RedisCache::drop(Outdated outdated) {
  impl_->put(outdated.id, redis::to_outdated(outdated.at, outdated.is_running), impl_->kept_for());
  co_return;
}

std::size_t RedisCache::pending_bytes() const {
  return impl_->pending_bytes();
}

}  // namespace semel::stores
