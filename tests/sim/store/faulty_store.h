#pragma once

#include "sim/lab.h"

namespace semel::sim {

// One node's way to the store: slow, and not to be trusted. A write that was sent is on its own; it
// lands, or not, whatever becomes of the node that sent it.
//
// A write that fades (fading.h) is seen as long as it is there. What others act upon without
// writing (an answer, work that was accepted) is made durable before anybody but its own writer is
// shown it, as a store has to.
class FaultyStore final : public Store {
 public:
  // `node`: where replies go. `wire`: where writes travel.
  FaultyStore(Lab& lab, std::string name, support::VirtualTime::Lane node,
              support::VirtualTime::Lane wire)
      : lab_(lab), name_(std::move(name)), node_(node), wire_(wire) {}

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override;
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;
  boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                    std::size_t limit) override;
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override;
  StoreFeatures features() const override;
  StoreStats stats() const override { return {}; }
  std::optional<std::string> trouble() const override { return {}; }

 private:
  enum class Fault { none, unavailable, lost_reply, lost_write, late_write, held, fading };
  Fault draw_fault();
  Duration draw_delay();

  Lab& lab_;
  const std::string name_;
  const support::VirtualTime::Lane node_;
  const support::VirtualTime::Lane wire_;
};

}  // namespace semel::sim
