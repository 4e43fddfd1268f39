// The promise: work that was answered with 202 is executed, once, or can be seen to wait. If this
// process dies in here, work that had not begun is still queued, and work that had begun is
// unknown.
#include "execution/background.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "engine/spawn.h"
#include "execution/execution.h"
#include "execution/operation_name.h"
#include "execution/queued_request.h"
#include "execution/redelivery.h"

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// One place in this many is for running work; the others are for waiting work.
constexpr std::size_t kHeldPerRunning = 4;
// Work of a route whose circuit is open reads its record each time that it tries.
constexpr Duration kCircuitWaitMin = std::chrono::milliseconds(100);

std::optional<std::size_t> find_route(const std::vector<config::RouteConfig>& routes,
                                      std::string_view name) {
  for (std::size_t index = 0; index < routes.size(); ++index) {
    if (routes[index].name == name) return index;
  }
  for (std::size_t index = 0; index < routes.size(); ++index) {
    const auto& aliases = routes[index].aliases;
    if (std::ranges::find(aliases, name) != aliases.end()) return index;
  }
  return std::nullopt;
}

std::vector<http::Field> fields_of(const QueuedRequest& request) {
  std::vector<http::Field> fields;
  fields.reserve(request.headers.size());
  for (const Header& header : request.headers) fields.push_back({header.name, header.value});
  return fields;
}

}  // namespace

std::size_t Background::running_max() const {
  return std::max<std::size_t>(1, held_max_ / kHeldPerRunning);
}

Background::Slot::Slot(std::atomic<std::size_t>& held, runtime::ShareHolderPtr for_whom,
                       runtime::ShareHolderPtr from_peer)
    : holder(std::move(for_whom)), peer(std::move(from_peer)), all(held), own(holder->queued) {
  if (peer) peers.emplace(peer->queued);
}

// Counts by peer as well: where tenants need not prove who they are, names cost nothing.
bool Background::Slot::has_share_of(std::size_t limit) const {
  return runtime::has_share(own.before(), all.before(), limit) &&
         (!peers || runtime::has_share(peers->before(), all.before(), limit));
}

std::optional<Background::Slot> Background::reserve(std::string_view tenant,
                                                    std::string_view operation,
                                                    runtime::ShareHolderPtr peer) {
  const bool has_tenant = !tenant.empty() && tenant != config::kWebhookTenant;
  Slot slot(
      held_,
      has_tenant ? services_.holders.of_tenant(tenant) : services_.holders.of_operation(operation),
      std::move(peer));
  if (!slot.has_share_of(held_max_)) return std::nullopt;
  return slot;
}

void Background::add(const QueuedWork& work, Slot slot) {
  {
    std::lock_guard lock(mutex_);
    const runtime::ShareHolder* holder = slot.holder.get();
    Lane& lane = lanes_[holder];
    if (lane.waiting.empty()) turns_.push_back(holder);
    lane.waiting.push_back({work, std::move(slot)});
  }
  pump();
}

void Background::resume(const QueuedWork& work) {
  auto slot = reserve(work.tenant, work.operation);
  if (!slot || services_.draining) {
    services_.engine.put_off(work);
    return;
  }
  add(work, std::move(*slot));
}

// The engine sweeps on the first worker's thread, so this reads that worker's settings.
KeptWork Background::look_at(const Record& kept) const {
  const auto request = decode_queued_request(kept.request);
  const runtime::ActiveConfigPtr settings = services_.workers.front()->settings();
  const auto route = request ? find_route(settings->routes, request->route) : std::nullopt;
  if (!route) return kept::NotOurs{};
  const auto again = redelivery_of_lost(settings->routes[*route], kept);
  if (!again) return kept::StaysUnknown{};
  return kept::TriedAgain{*again};
}

std::optional<Background::Item> Background::take_next() {
  if (running_ >= running_max()) return std::nullopt;
  for (std::size_t looked_at = turns_.size(); looked_at > 0; --looked_at) {
    const runtime::ShareHolder* holder = turns_.front();
    turns_.pop_front();
    Lane& lane = lanes_.at(holder);
    if (!runtime::has_share(lane.running, running_, running_max())) {
      turns_.push_back(holder);
      continue;
    }
    std::optional<Item> item(std::move(lane.waiting.front()));
    lane.waiting.pop_front();
    if (!lane.waiting.empty()) turns_.push_back(holder);
    ++lane.running;
    ++running_;
    return item;
  }
  return std::nullopt;
}

void Background::pump() {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (services_.draining) return;
    std::optional<Item> item = take_next();
    if (!item) return;
    runtime::Worker& worker = *services_.workers[next_worker_++ % services_.workers.size()];
    lock.unlock();
    asio::co_spawn(worker.context(), run(worker, std::move(*item)),
                   engine::OrReport{"queued work"});
  }
}

awaitable<void> Background::run(runtime::Worker& worker, Item item) {
  std::optional<Duration> again_after;
  {
    const runtime::Counted active(services_.active);
    try {
      again_after = co_await execute(worker, item.work);
    } catch (const std::exception& error) {
      telemetry::log_event(config::LogLevel::error, "queued work failed", {{"why", error.what()}});
      services_.engine.put_off(item.work);
    }
  }
  {
    std::lock_guard lock(mutex_);
    --running_;
    const auto lane = lanes_.find(item.slot.holder.get());
    if (--lane->second.running == 0 && lane->second.waiting.empty()) lanes_.erase(lane);
  }
  // Not called directly: if nothing suspends, each piece of work would begin inside the one before.
  asio::post(worker.context(), [this] { pump(); });
  if (!again_after) co_return;
  // It keeps its slot, but nobody else waits for it.
  co_await services_.clock.sleep(*again_after);
  add(item.work, std::move(item.slot));
}

awaitable<std::optional<Duration>> Background::execute(runtime::Worker& worker, QueuedWork work) {
  auto found = co_await services_.store.read(work.id);
  const bool is_queued = found && *found && (*found)->state == RecordState::queued &&
                         (*found)->token == work.token && !services_.draining;
  if (!is_queued) {
    services_.engine.put_off(work);
    co_return std::nullopt;
  }
  RecordPtr kept = *std::move(found);
  const Record& record = *kept;
  auto request = decode_queued_request(record.request);
  const runtime::ActiveConfigPtr settings = worker.settings();
  const auto route = request ? find_route(settings->routes, request->route) : std::nullopt;
  if (!route) {
    telemetry::log_repeating(
        config::LogLevel::warn, "queued work stays queued", name_in(record.operation),
        {{"record", record.id.hex()},
         {"route", request ? request->route : record.operation},
         {"why", request ? "there is no such route" : "its request cannot be read"}});
    services_.engine.put_off(work);
    co_return std::nullopt;
  }
  const runtime::Counted bytes(services_.buffered_bytes, record.request.size());
  const runtime::Route in_route(settings, *route);
  runtime::Circuit::Pass pass;
  if (runtime::Circuit* circuit = in_route.circuit()) {
    const auto let_through = circuit->enter(worker.deadlines().now());
    if (!let_through) co_return std::max(let_through.error(), kCircuitWaitMin);
    pass = *let_through;
  }
  Started started = co_await services_.engine.start(std::move(kept), in_route->operation);
  auto* claim = std::get_if<EngineClaim>(&started);
  if (!claim) {
    if (runtime::Circuit* circuit = in_route.circuit()) {
      circuit->give_back(pass, worker.deadlines().now());
    }
    co_return std::nullopt;
  }

  telemetry::Trace trace =
      services_.begin_trace(claim->record->trace, telemetry::SpanKind::internal);
  trace.set_name("queued", in_route->name);
  if (trace) trace.set("semel.record", claim->record->id.hex());
  in_route.metrics().count(telemetry::RequestResult::executed, trace.trace_id());
  const std::vector<http::Field> fields = fields_of(*request);
  const runtime::RequestBody body(services_.spool, std::move(request->body));
  const KeyedRequest keyed{{request->method, request->target, fields, request->forwarded},
                           body,
                           request->key_in_header,
                           request->key,
                           pass,
                           &trace};
  Execution execution(worker, in_route, std::move(*claim), keyed, AnswerSink::nobody());
  co_await execution.run_to_end();
  co_return std::nullopt;
}

}  // namespace semel::execution
