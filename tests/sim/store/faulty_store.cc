#include "sim/store/faulty_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace semel::sim {
namespace {

using boost::asio::awaitable;

constexpr std::size_t kRecordBytesMax = 1 << 20;

std::string describe(const Record* record) {
  if (!record) return "absent";
  return fmt::format("{} attempt {} token {} v{}", to_string(record->state), record->attempt,
                     record->token.hex().substr(0, 6), record->version);
}

std::string describe(const SwapResult& result) {
  if (const auto* applied = std::get_if<swap::Applied>(&result)) {
    return fmt::format("applied v{}", applied->version);
  }
  if (const auto* conflict = std::get_if<swap::Conflict>(&result)) {
    return "conflict with " + describe(conflict->current.get());
  }
  return "failed";
}

bool is_acted_upon(RecordState state) {
  return state == RecordState::completed || state == RecordState::queued ||
         state == RecordState::tombstone;
}

// Somebody is shown the record. `writer`: the token of what he was about to write.
void show(Lab& lab, const Record* record, const std::optional<Token>& writer) {
  if (!record || record->token == writer || !is_acted_upon(record->state)) return;
  lab.fading.confirm(record->id);
}

void fade(Lab& lab, const RecordId& id, Version version) {
  const auto write = lab.fading.fade(id, version);
  if (!write || !lab.store.take_back(id, write->before)) return;
  lab.history.taken_back(id);
  lab.tally.count("write faded");
  lab.trace.line(lab.time.now(), [&] {
    return fmt::format("v{} FADES, back to {}", version,
                       describe(write->before ? &*write->before : nullptr));
  });
}

bool removed_since(const Lab& lab, const RecordId& id, Time since) {
  return std::ranges::any_of(
      lab.history.of(id), [&](const Written& write) { return !write.record && write.at >= since; });
}

// A write on its way.
struct Sent {
  std::string from;
  RecordId id;
  Version expected = 0;
  std::optional<Record> next;
  Time at{};
  std::uint64_t server = 0;
  std::optional<Duration> fades_after;  // it is not durable, and is gone after so long
};

// It reaches the store. `reply` is null where its result gets lost.
void land(Lab& lab, const Sent& sent, const std::shared_ptr<SwapResult>& reply) {
  const auto& [from, id, expected, next, at, server, fades_after] = sent;
  if (server != lab.fading.server_of(id)) return;
  std::optional<Record> before = lab.store.read(id);
  const bool outlived = !before && next && removed_since(lab, id, at);
  SwapResult result = lab.store.swap(id, expected, next);
  if (const auto* applied = std::get_if<swap::Applied>(&result)) {
    const Version version = applied->version;
    if (outlived) lab.outlived.insert(next->token);
    lab.fading.confirm(id);
    if (fades_after) {
      lab.fading.wrote(id, {std::move(before), version});
      lab.time.in(*fades_after, 0, [&lab, id, version] { fade(lab, id, version); });
    }
  } else if (const auto* conflict = std::get_if<swap::Conflict>(&result)) {
    if (reply) show(lab, conflict->current.get(), next ? std::optional(next->token) : std::nullopt);
  }
  lab.trace.line(lab.time.now(), [&] {
    return fmt::format("{} swap v{} -> {}: {}{}", from, expected, describe(next ? &*next : nullptr),
                       describe(result), reply ? "" : " (nobody hears)");
  });
  if (reply) *reply = std::move(result);
}

}  // namespace

FaultyStore::Fault FaultyStore::draw_fault() {
  int roll = lab_.random.below(1000);
  const FaultRates& rates = lab_.rates;
  if ((roll -= rates.unavailable) < 0) return Fault::unavailable;
  if ((roll -= rates.held) < 0) return Fault::held;
  if ((roll -= rates.lost_reply) < 0) return Fault::lost_reply;
  if ((roll -= rates.lost_write) < 0) return Fault::lost_write;
  if ((roll -= rates.late_write) < 0) return Fault::late_write;
  if ((roll -= rates.fading) < 0) return Fault::fading;
  return Fault::none;
}

Duration FaultyStore::draw_delay() {
  if (lab_.random.chance(lab_.rates.slow)) return lab_.random.ms(500, 3000);
  return lab_.random.ms(0, 15);
}

awaitable<SwapResult> FaultyStore::swap(RecordId id, Version expected,
                                        std::shared_ptr<Record> next) {
  const Fault fault = draw_fault();
  const Duration there = draw_delay();
  const Duration back = draw_delay();
  auto reply = std::make_shared<SwapResult>(swap::Unknown{"no reply"});
  if (fault == Fault::unavailable) {
    *reply = StoreUnavailable{"connection refused"};
    lab_.tally.count("swap unavailable");
  } else if (fault == Fault::held) {
    auto current = shared(lab_.store.read(id));
    show(lab_, current.get(), next ? std::optional(next->token) : std::nullopt);
    *reply = swap::Busy{std::move(current)};
    lab_.tally.count("swap of a held record");
  } else if (fault != Fault::lost_write) {
    const Duration arrives = fault == Fault::late_write ? back + lab_.random.ms(1, 6000) : there;
    auto heard = fault == Fault::none ? reply : nullptr;
    // By value: the write outlives this node.
    Sent sent{.from = name_,
              .id = id,
              .expected = expected,
              .next = value_of(next),
              .at = lab_.time.now(),
              .server = lab_.fading.server_of(id),
              .fades_after = std::nullopt};
    if (fault == Fault::fading) sent.fades_after = lab_.random.ms(5, 3000);
    lab_.time.in(arrives, wire_,
                 [&lab = lab_, sent = std::move(sent), heard] { land(lab, sent, heard); });
  }
  co_await lab_.time.pause(node_, there + back);
  const bool is_unknown = std::holds_alternative<swap::Unknown>(*reply);
  if (is_unknown) lab_.tally.count("swap of unknown fate");
  if (fault != Fault::none) {
    lab_.trace.line(lab_.time.now(), [&] {
      return name_ + (is_unknown ? " swap: fate unknown" : " swap refused: unavailable or held");
    });
  }
  co_return std::move(*reply);
}

awaitable<StoreResult<RecordPtr>> FaultyStore::read(RecordId id) {
  const bool fails = lab_.random.chance(lab_.rates.unavailable);
  co_await lab_.time.pause(node_, draw_delay());
  if (fails) co_return std::unexpected(StoreUnavailable{"connection refused"});
  RecordPtr found = shared(lab_.store.read(id));
  show(lab_, found.get(), std::nullopt);
  co_await lab_.time.pause(node_, draw_delay());
  co_return found;
}

awaitable<StoreResult<std::vector<RecordPtr>>> FaultyStore::sweep(Time now, std::size_t limit) {
  const bool fails = lab_.random.chance(lab_.rates.unavailable);
  std::vector<RecordPtr> due = lab_.store.sweep(now, limit);
  co_await lab_.time.pause(node_, draw_delay());
  if (fails) co_return std::unexpected(StoreUnavailable{"connection refused"});
  co_return due;
}

awaitable<StoreResult<ScanPage>> FaultyStore::scan(std::optional<RecordId> after,
                                                   std::size_t limit) {
  const bool fails = lab_.random.chance(lab_.rates.unavailable);
  ScanPage page = lab_.store.scan(after, limit);
  co_await lab_.time.pause(node_, draw_delay());
  if (fails) co_return std::unexpected(StoreUnavailable{"connection refused"});
  co_return page;
}

StoreFeatures FaultyStore::features() const {
  return {
      .exclusive = lab_.scenario.exclusive, .durable = true, .record_bytes_max = kRecordBytesMax};
}

}  // namespace semel::sim
