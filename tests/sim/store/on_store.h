#pragma once

#include "conformance/run.h"
#include "support/model_store.h"

namespace semel::sim {

// A real store in the place of the model: to the simulated world, each of its answers takes no
// time. Whatever it answers but success and conflict is thrown: in here it has no reason to.
class OnStore final : public support::ModelStore {
 public:
  explicit OnStore(Store& store) : store_(store) {}

  SwapResult swap(const RecordId& id, Version expected, std::optional<Record> next) override {
    std::optional<Record> before = read(id);
    std::optional<Record> after = next;
    SwapResult result = conformance::run(store_.swap(id, expected, shared(std::move(next))));
    if (const auto* applied = std::get_if<swap::Applied>(&result)) {
      if (after) after->version = applied->version;
      if (told_) told_(before, after ? &*after : nullptr);
    } else if (!std::holds_alternative<swap::Conflict>(result)) {
      throw std::runtime_error("the store did not answer a swap");
    }
    return result;
  }
  std::optional<Record> read(const RecordId& id) const override {
    return value_of(conformance::run(store_.read(id)).value());
  }
  std::vector<RecordPtr> sweep(Time now, std::size_t limit) const override {
    return conformance::run(store_.sweep(now, limit)).value();
  }
  ScanPage scan(const std::optional<RecordId>& after, std::size_t limit) const override {
    return conformance::run(store_.scan(after, limit)).value();
  }
  bool take_back(const RecordId&, const std::optional<Record>&) override { return false; }
  std::map<RecordId, Record> records() const override {
    std::map<RecordId, Record> all;
    std::optional<RecordId> after;
    do {
      ScanPage page = scan(after, 1000);
      for (const RecordPtr& record : page.records) all.emplace(record->id, *record);
      after = page.next;
    } while (after);
    return all;
  }

 private:
  Store& store_;
};

}  // namespace semel::sim
