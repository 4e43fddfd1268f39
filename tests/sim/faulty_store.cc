#include "sim/faulty_store.h"

#include <fmt/format.h>

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

// A write reaches the store. `reply` is null where its result gets lost.
void land(Lab& lab, const std::string& from, const RecordId& id, Version expected,
          const std::optional<Record>& next, const std::shared_ptr<SwapResult>& reply) {
  SwapResult result = lab.store.swap(id, expected, next);
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
    *reply = swap::Busy{testing::shared(lab_.store.read(id))};
    lab_.tally.count("swap of a held record");
  } else if (fault != Fault::lost_write) {
    const Duration arrives = fault == Fault::late_write ? back + lab_.random.ms(1, 6000) : there;
    auto heard = fault == Fault::none ? reply : nullptr;
    // By value: the write outlives this node.
    std::optional<Record> sent;
    if (next) sent = *next;
    lab_.time.in(arrives, wire_,
                 [&lab = lab_, from = name_, id, expected, sent = std::move(sent), heard] {
                   land(lab, from, id, expected, sent, heard);
                 });
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

awaitable<StoreResult<std::optional<Record>>> FaultyStore::read(RecordId id) {
  const bool fails = lab_.random.chance(lab_.rates.unavailable);
  co_await lab_.time.pause(node_, draw_delay());
  if (fails) co_return std::unexpected(StoreUnavailable{"connection refused"});
  std::optional<Record> found = lab_.store.read(id);
  co_await lab_.time.pause(node_, draw_delay());
  co_return found;
}

awaitable<StoreResult<std::vector<Record>>> FaultyStore::sweep(Time now, std::size_t limit) {
  const bool fails = lab_.random.chance(lab_.rates.unavailable);
  std::vector<Record> due = lab_.store.sweep(now, limit);
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
