#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>

#include "admin/admin_answer.h"
#include "admin/parameters.h"
#include "admin/setup/route_words.h"
#include "admin/setup/setup_api.h"
#include "base/utf8.h"
#include "config/printing/print.h"
#include "execution/operation_name.h"

namespace semel::admin {
namespace asio = boost::asio;
namespace json = boost::json;
using asio::awaitable;

namespace {

constexpr std::size_t kCountedMax = 10'000;  // records that are looked at
constexpr std::size_t kCountedPage = 200;
constexpr Duration kCountEvery = std::chrono::seconds(30);

json::object upstream_json(const runtime::Endpoint& endpoint) {
  std::string_view state = endpoint.key().health ? "healthy" : "unchecked";
  json::value why = nullptr;
  if (endpoint.is_down()) {
    state = "ejected";
    why = "its health checks fail";
  } else if (endpoint.is_ejected()) {
    state = "ejected";
    why = "connections to it failed";
  }
  return {{"url", base::printable_utf8(endpoint.name())}, {"state", state}, {"why", why}};
}

json::array upstreams_json(const runtime::RouteEndpoints& sets) {
  json::array out;
  std::vector<runtime::EndpointPtr> seen;
  for (const runtime::EndpointSetPtr& set : sets) {
    for (const runtime::EndpointPtr& endpoint : set->endpoints()) {
      if (std::ranges::find(seen, endpoint) != seen.end()) continue;  // a file may list it twice
      seen.push_back(endpoint);
      out.push_back(upstream_json(*endpoint));
    }
  }
  return out;
}

json::value circuit_json(const runtime::CircuitPtr& circuit) {
  if (!circuit) return nullptr;
  return circuit->is_open() ? "open" : "closed";
}

json::object route_json(const runtime::ActiveConfig& settings, std::size_t index) {
  const config::RouteConfig& route = settings.routes[index];
  json::object out;
  out["name"] = base::printable_utf8(route.name);
  out["path"] = base::printable_utf8(route.path);
  out["methods"] = json::array(route.methods.begin(), route.methods.end());
  out["mode"] = route.mode == config::Mode::observe ? "observe" : "enforce";
  json::array words;
  for (const std::string& sentence : words_about(route)) words.push_back(json::value(sentence));
  out["words"] = std::move(words);
  out["in_progress"] = settings.metrics[index]->in_progress().load();
  out["ttl_seconds"] =
      std::chrono::duration_cast<std::chrono::seconds>(route.operation.ttl).count();
  out["upstreams"] = upstreams_json(settings.endpoints[index]);
  out["circuit"] = circuit_json(settings.circuits[index]);
  out["probe"] = route.operation.unknown == UnknownPolicy::probe;
  return out;
}

// Under `scope: tenant` a record does not say which route made it.
json::value unknown_of(const config::RouteConfig& route, const auto& counts) {
  if (route.scope == config::ScopeKind::tenant) return nullptr;
  const auto count = [&](const std::string& name) {
    const auto found = counts.find(name);
    return found == counts.end() ? std::size_t{0} : found->second;
  };
  std::size_t unknown = count(route.name);
  for (const std::string& alias : route.aliases) unknown += count(alias);
  return unknown;
}

}  // namespace

// Walks over all records, except if none is unknown, which the store knows by itself.
awaitable<StoreResult<std::optional<SetupApi::Counts>>> SetupApi::count_unknown() {
  const SteadyTime now = process_.machine_clock().steady();
  if (services_.store.stats().unknown_records == 0) co_return Counts{};
  if (now < count_again_at_) co_return counted_;
  auto executor = co_await asio::this_coro::executor;
  Counts counts;
  std::size_t examined = 0;
  std::optional<RecordId> after;
  do {
    auto page = co_await services_.store.scan(after, kCountedPage);
    if (!page) co_return std::unexpected(page.error());
    for (const RecordPtr& record : page->records) {
      if (record->state != RecordState::unknown) continue;
      ++counts[std::string(execution::name_in(record->operation))];
    }
    examined += page->records.size();
    after = page->next;
    co_await asio::post(executor, asio::use_awaitable);  // give others a turn
  } while (after && examined < kCountedMax);
  counted_ = after ? std::nullopt : std::optional(std::move(counts));
  count_again_at_ = now + kCountEvery;
  co_return counted_;
}

Answer SetupApi::config(const std::string& query) const {
  if (const auto wrong = no_parameters(query)) return problem_answer(400, "bad-query", *wrong);
  return json_answer(200, {{"yaml", config::print_yaml(process_.config())}});
}

awaitable<Answer> SetupApi::routes(std::string query) {
  if (const auto wrong = no_parameters(query)) co_return problem_answer(400, "bad-query", *wrong);
  auto counts = co_await count_unknown();
  const runtime::ActiveConfigPtr settings = process_.workers().front()->settings();
  json::array routes;
  for (std::size_t i = 0; i < settings->routes.size(); ++i) {
    json::object route = route_json(*settings, i);
    route["unknown"] = counts && *counts ? unknown_of(settings->routes[i], **counts) : nullptr;
    routes.push_back(std::move(route));
  }
  co_return json_answer(200, {{"routes", std::move(routes)}});
}

}  // namespace semel::admin
