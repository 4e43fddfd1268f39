#include "cli/admin/local.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/json.hpp>

#include "admin/admin_answer.h"
#include "http/target.h"
#include "server/open_store.h"

namespace semel::cli {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::string_view kKeys = "/api/keys";
constexpr std::string_view kQueue = "/api/queue";
constexpr std::string_view kAnswer = "/answer";

// Opening a RocksDB writes to its folder. Files of another user there would keep the gateway from
// opening it afterwards.
std::expected<void, std::string> check_folder(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    return std::unexpected(fmt::format("there is no store at {}", path));
  }
  if (status.st_uid == geteuid()) return {};
  const passwd* owner = getpwuid(status.st_uid);
  return std::unexpected(
      fmt::format("{} belongs to {}; run this as that user", path,
                  owner ? owner->pw_name : fmt::format("user {}", status.st_uid)));
}

// Returns how people would name the store, or why it cannot be opened here.
std::expected<std::string, std::string> describe_store(const stores::StoreConfig& store) {
  switch (store.kind) {
    case stores::StoreKind::embedded: {
      if (auto usable = check_folder(store.path); !usable) return std::unexpected(usable.error());
      return "the embedded store " + store.path;
    }
    case stores::StoreKind::memory:
      return std::unexpected("a memory store exists only inside its gateway");
    case stores::StoreKind::postgres:
      return "the store in PostgreSQL";
    case stores::StoreKind::redis:
      return "the store in Redis";
    case stores::StoreKind::tiered:
      return "the store in PostgreSQL and Redis";
  }
  return std::unexpected("this kind of store is opened only by a gateway");
}

// Names the user in the history of a record, where the name of a token would stand.
std::string user_at_store() {
  const passwd* user = getpwuid(geteuid());
  return (user ? user->pw_name : fmt::format("user {}", geteuid())) + " at the store";
}

bool is_below(std::string_view path, std::string_view base) {
  if (!path.starts_with(base)) return false;
  path.remove_prefix(base.size());
  return path.empty() || path.starts_with('/') || path.starts_with('?');
}

}  // namespace

LocalAdmin::LocalAdmin(std::unique_ptr<server::Process> process, std::string described,
                       bool has_token)
    : process_(std::move(process)),
      search_(*process_),
      keys_(*process_, search_),
      decider_(*process_, search_),
      busy_(process_->context().get_executor()),
      described_(std::move(described)),
      has_token_(has_token) {}

LocalAdmin::~LocalAdmin() = default;

std::expected<std::unique_ptr<LocalAdmin>, std::string> LocalAdmin::open(
    const config::Config& config, bool has_token) {
  auto described = describe_store(config.store);
  if (!described) return std::unexpected(std::move(described.error()));
  config::Config local = config;
  local.routes.clear();
  local.workers = 1;
  local.spool.path.clear();
  local.tracing.reset();
  local.notify.reset();
  auto key_material = runtime::KeyMaterial::load(local, {});
  if (!key_material) return std::unexpected(std::move(key_material.error()));
  auto metrics = std::make_unique<telemetry::Metrics>();
  auto store = server::open_store_for(local, *metrics);
  if (!store) return std::unexpected(std::move(store.error()));
  auto process = server::Process::start(std::move(local), {}, *std::move(key_material),
                                        std::move(metrics), *std::move(store));
  if (!process) return std::unexpected(std::move(process.error()));
  return std::unique_ptr<LocalAdmin>(
      new LocalAdmin(*std::move(process), *std::move(described), has_token));
}

bool LocalAdmin::serves(std::string_view target) {
  return is_below(target, kKeys) || is_below(target, kQueue);
}

AdminReply LocalAdmin::ask(bool changes, const std::string& target, const std::string& body) {
  const auto parsed = http::parse_target(target);
  asio::io_context& context = process_->context();
  std::optional<Answer> answered;
  std::exception_ptr failed;
  asio::co_spawn(context, changes ? change(parsed->path, body) : read(parsed->path, parsed->query),
                 [&](std::exception_ptr why, Answer got) {
                   failed = std::move(why);
                   answered = std::move(got);
                 });
  while (!answered) context.run_one();
  if (failed) std::rethrow_exception(failed);
  boost::system::error_code not_json;
  AdminReply reply{answered->status, json::parse(answered->body, not_json)};
  if (not_json) reply.body = nullptr;
  return reply;
}

asio::awaitable<Answer> LocalAdmin::read(std::string path, std::string query) {
  if (path == kQueue) co_return co_await keys_.list_work(std::move(query));
  if (path == kKeys) co_return co_await keys_.list(std::move(query));
  std::string id = path.substr(kKeys.size() + 1);
  if (!id.ends_with(kAnswer)) co_return co_await keys_.show(std::move(id));
  if (!has_token_) {
    co_return admin::problem_answer(401, "token-required",
                                    "Recorded answers are shown only to those who have a token.");
  }
  id.resize(id.size() - kAnswer.size());
  co_return co_await keys_.show_answer(std::move(id), user_at_store());
}

asio::awaitable<Answer> LocalAdmin::change(std::string path, std::string body) {
  const std::size_t base = is_below(path, kQueue) ? kQueue.size() : kKeys.size();
  const std::string rest = path.substr(std::min(base + 1, path.size()));
  const std::size_t slash = rest.rfind('/');
  const bool is_one = slash != std::string::npos;
  const auto decided = admin::parse_verb(is_one ? rest.substr(slash + 1) : rest);
  if (!decided) co_return admin::problem_answer(404, "no-such-path", "There is no such decision.");
  if (is_one) {
    co_return co_await decider_.decide(*decided, rest.substr(0, slash), user_at_store(),
                                       std::move(body));
  }
  co_return co_await decider_.decide_many(*decided, user_at_store(), std::move(body));
}

}  // namespace semel::cli
