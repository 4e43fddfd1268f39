// The engine's own work: renews the leases of running executions, ends waits, expires records in
// small batches, and takes stock of what an earlier run left behind.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include "engine/engine_impl.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Runs the tasks concurrently on the caller's executor, which has one thread, and returns when the
// last has ended. That way their writes share the store's group commits.
awaitable<void> run_all(std::vector<awaitable<void>> tasks) {
  if (tasks.empty()) co_return;
  std::exception_ptr first_failed;
  auto executor = co_await asio::this_coro::executor;
  auto initiate = [&executor, &tasks, &first_failed](auto handler) {
    struct Join {
      std::size_t left;
      decltype(handler) done;
    };
    auto join = std::make_shared<Join>(tasks.size(), std::move(handler));
    for (auto& task : tasks) {
      asio::co_spawn(executor, std::move(task), [join, &first_failed](std::exception_ptr failed) {
        if (failed && !first_failed) first_failed = failed;
        if (--join->left == 0) std::move(join->done)();
      });
    }
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(std::move(initiate),
                                                                        asio::use_awaitable);
  if (first_failed) std::rethrow_exception(first_failed);
}

}  // namespace

awaitable<void> Engine::Impl::renew(engine::Executions::Renewal renewal) {
  auto found = co_await store.read(renewal.id);
  if (!found) {
    observer.store_failed("renewal", found.error().why);
    co_return;
  }
  core::Event event = core::event::Renew{renewal.token, renewal.lease};
  Applied applied = co_await apply(renewal.id, *std::move(found), event);
  const auto* changed = std::get_if<Changed>(&applied);
  if (!changed || !std::holds_alternative<core::verdict::Stale>(changed->verdict)) co_return;
  // Stale because it was finished meanwhile is no loss; stale while it still runs here is one.
  if (running.has(renewal.id, renewal.token)) observer.lease_lost(renewal.id);
}

awaitable<void> Engine::keep() {
  while (!impl_->stopped) {
    co_await impl_->clock.sleep(impl_->options.tick);
    impl_->look_at_clocks();
    const SteadyTime steady = impl_->clock.steady();
    impl_->running.end_waits(steady);
    impl_->watches.end(steady);
    for (auto& renewal : impl_->running.take_renewals(impl_->clock.now(), steady)) {
      impl_->pursue(kRenewing, impl_->renew(renewal));
    }
  }
}

KeptWork Engine::Impl::look_at_kept(const Record& record) const {
  if (!take_queued) return kept::NotOurs{};
  if (!ask_about_kept) return kept::StaysUnknown{};
  KeptWork kept = ask_about_kept(record);
  const bool is_left = std::holds_alternative<kept::NotOurs>(kept);
  if (is_left && exclusive) return kept::StaysUnknown{};  // there are no other processes
  return kept;
}

awaitable<void> Engine::Impl::sweep_record(RecordPtr record, std::size_t& changed_records) {
  const RecordId id = record->id;
  core::event::Sweep sweep;
  sweep.skew = skew();
  sweep.queued_lease = options.queued_lease;
  const bool is_work =
      record->state == RecordState::queued || record->state == RecordState::in_progress;
  if (is_work && !record->request.empty()) {
    const KeptWork kept = look_at_kept(*record);
    if (const auto* again = std::get_if<kept::TriedAgain>(&kept)) {
      sweep.queue_again_after = again->after;
    }
    if (std::holds_alternative<kept::NotOurs>(kept)) {
      sweep.left_to_others_for = options.others_patience;
    }
  }
  core::Event event = sweep;
  Applied applied = co_await apply(id, std::move(record), event);
  const auto* changed = std::get_if<Changed>(&applied);
  if (!changed || !std::holds_alternative<core::verdict::Done>(changed->verdict)) co_return;
  ++changed_records;
  if (sweep.left_to_others_for) {
    if (changed->after) observer.left_to_others(*changed->after);
    co_return;
  }
  const bool was_queued = changed->before && changed->before->state == RecordState::queued;
  if (was_queued && changed->after) hand_out(*changed->after);
}

awaitable<std::size_t> Engine::sweep_once() {
  if (impl_->store.doubts().clock) co_return 0;
  auto due = co_await impl_->store.sweep(impl_->clock.now(), impl_->options.sweep_batch);
  if (!due) {
    impl_->observer.store_failed("sweep", due.error().why);
    co_return 0;
  }
  std::size_t changed = 0;
  std::vector<awaitable<void>> tasks;
  for (RecordPtr& record : *due) tasks.push_back(impl_->sweep_record(std::move(record), changed));
  co_await run_all(std::move(tasks));
  co_return changed;
}

awaitable<void> Engine::sweep_forever() {
  while (!impl_->stopped) {
    const std::size_t changed = co_await sweep_once();
    // There may be more, but live traffic gets its turn in between.
    const bool more = changed > 0;
    co_await impl_->clock.sleep(more ? impl_->options.tick : impl_->options.sweep_every);
  }
}

awaitable<void> Engine::recover() {
  if (!impl_->exclusive) co_return;
  std::optional<RecordId> after;
  while (!impl_->stopped) {
    auto page = co_await impl_->store.scan(after, impl_->options.sweep_batch);
    if (!page) {
      impl_->observer.store_failed("recovery", page.error().why);
      co_return;
    }
    std::size_t changed = 0;
    std::vector<awaitable<void>> tasks;
    for (RecordPtr& record : page->records) {
      const bool is_left_behind = record->owner.run != impl_->options.owner.run;
      if (is_left_behind) impl_->observer.found(*record);
      // Work that waits for its next try is due when its record says so. Work of this run is held
      // here, or has begun since this page was read.
      const bool is_due = record->attempt == 0 || due_at(*record) <= impl_->clock.now();
      const bool is_queued = record->state == RecordState::queued;
      if (is_queued && is_left_behind && is_due) impl_->hand_out(*record);
      if (record->state != RecordState::in_progress) continue;
      tasks.push_back(impl_->sweep_record(std::move(record), changed));
    }
    co_await run_all(std::move(tasks));
    if (!page->next) co_return;
    after = page->next;
  }
}

}  // namespace semel
