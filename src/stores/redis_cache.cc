#include "stores/redis_cache.h"

#include <pthread.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>
#include <utility>

#include "stores/redis_nodes.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;
using redis::CallResult;
using redis::Command;

namespace {

// Slower than this, and the store that decides is asked instead.
constexpr Duration kFindTimeout = std::chrono::milliseconds(50);
// For so long a server that was too slow is not asked.
constexpr auto kRest = std::chrono::seconds(1);
constexpr auto kCloseTimeout = std::chrono::seconds(3);  // longer than connecting may take
constexpr std::size_t kRecordBytesMax = 4 << 20;

}  // namespace

class RedisCache::Impl {
 public:
  Impl(RedisConfig config, RedisUrl url, std::shared_ptr<const net::TlsClient> tls,
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
    asio::co_spawn(io_, deadlines_.run(), asio::detached);
    asio::co_spawn(io_, begin(), asio::detached);
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
    io_.run_for(kCloseTimeout);
  }

  asio::io_context& io() { return io_; }

  // On the cache's thread.
  awaitable<std::optional<Record>> find(RecordId id) {
    if (std::chrono::steady_clock::now() < rests_until_) co_return std::nullopt;
    // A call cannot be taken back; one that takes too long is left to end by itself.
    struct Asked {
      asio::steady_timer patience;
      std::optional<CallResult> result = {};
    };
    auto asked = std::make_shared<Asked>(asio::steady_timer(io_, kFindTimeout));
    Command get{.bucket = redis::bucket_of(id), .arguments = {"GET", redis::cached_key(id)}};
    asio::co_spawn(io_, nodes_.call(std::move(get)),
                   [asked](std::exception_ptr failed, CallResult result) {
                     if (failed) return;
                     asked->result = std::move(result);
                     asked->patience.cancel();
                   });
    boost::system::error_code ignored;
    co_await asked->patience.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (!asked->result) {
      rests_until_ = std::chrono::steady_clock::now() + kRest;
      co_return std::nullopt;
    }
    const CallResult& result = *asked->result;
    if (!result || result->reply.is_nil()) co_return std::nullopt;
    auto record = redis::from_cached(id, result->reply.text());
    if (!record) co_return std::nullopt;
    co_return *std::move(record);
  }

  awaitable<void> keep(RecordId id, std::string value) {
    Command put{.bucket = redis::bucket_of(id),
                .script = &redis::fill_script(),
                .arguments = {"1", redis::cached_key(id), std::move(value),
                              std::to_string(kept_for_.count())}};
    (void)co_await nodes_.call(std::move(put));
  }

  awaitable<void> drop(RecordId id) {
    Command remove{.bucket = redis::bucket_of(id), .arguments = {"UNLINK", redis::cached_key(id)}};
    (void)co_await nodes_.call(std::move(remove));
  }

 private:
  awaitable<void> begin() {
    const auto started = co_await nodes_.start();
    if (!started)
      common_.warn("the cache is not there, everything is asked of the store: " + started.error());
    nodes_.keep();
  }

  const RedisConfig config_;
  const Duration kept_for_;
  asio::io_context io_{1};
  net::Deadlines deadlines_;
  redis::Common common_;
  redis::Nodes nodes_;
  std::chrono::steady_clock::time_point rests_until_{};
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

awaitable<std::optional<Record>> RedisCache::find(RecordId id) {
  auto work = asio::co_spawn(impl_->io(), impl_->find(id), asio::use_awaitable);
  co_return co_await std::move(work);
}

awaitable<void> RedisCache::keep(Record record) {
  std::string value = redis::to_cached(record);
  if (value.size() > kRecordBytesMax) co_return;
  asio::co_spawn(impl_->io(), impl_->keep(record.id, std::move(value)), asio::detached);
}

awaitable<void> RedisCache::drop(RecordId id) {
  asio::co_spawn(impl_->io(), impl_->drop(id), asio::detached);
  co_return;
}

}  // namespace semel
