#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "runtime/worker.h"
#include "semel/driver/record.h"

// Asks executors what became of attempts whose outcome is unknown (`unknown: probe`).
//
// Only the executor's own word counts: Idempotency-Outcome: final or retry. A bare 404 may come
// from an attempt that has not begun yet, or from a mistyped URL; taking it for "did not happen"
// would let a second attempt run beside the first.
namespace semel::execution {

class Prober {
 public:
  explicit Prober(runtime::Services& services)
      : services_(services), is_shared_(!services.store.features().exclusive) {}

  // Asks about an unknown record, for a request that came with its key. True: the outcome is known
  // now, look at the record again. False: it is still unknown, or was not asked about because
  // somebody is asking already, the last time was too recent, or too many are being asked about.
  boost::asio::awaitable<bool> ask(runtime::Worker& worker, runtime::Route route, RecordPtr record,
                                   std::string key);

  // Asks about an unknown record at once, for an operator. Returns whether the outcome is known
  // now; nullopt: it was not asked about, because somebody is asking already, too many are being
  // asked about, or the executor never got this attempt.
  boost::asio::awaitable<std::optional<bool>> ask_at_once(runtime::Worker& worker,
                                                          runtime::Route route, RecordPtr record,
                                                          std::string key);

  // Returns how long it is until the record is asked about again.
  Duration next_ask_in(const RecordId& id, Time now);

  // Notes a record that has become unknown, to ask about it in the background. Thread-safe.
  void became_unknown(const Record& record, Time now);

  // Asks in the background, beginning with the records that are unknown in the store, on whichever
  // node they became so. Looks for such records again now and then if the store is shared. Never
  // returns.
  boost::asio::awaitable<void> run(runtime::Worker& worker);

 private:
  static constexpr Duration kPauseMin = std::chrono::seconds(1);
  static constexpr Duration kPauseMax = std::chrono::seconds(60);
  struct Entry {
    Time next{};  // when it is due in the background
    base::Backoff pauses{kPauseMin, kPauseMax};
    bool asking = false;
    bool asked = false;  // if so, a request has to wait until `next`, too
  };

  enum class Pace { kept, ignored };
  bool begin(const RecordId& id, Time now, Pace pace);
  boost::asio::awaitable<bool> ask_begun(runtime::Worker& worker, runtime::Route route,
                                         RecordPtr record, std::string key);
  void end(const RecordId& id, bool settled, Time now);
  void note(const RecordId& id, Time next);
  void forget(const RecordId& id);
  void forget_all();
  std::vector<RecordId> due(Time now);
  bool may_have_missed();
  boost::asio::awaitable<bool> note_stored(runtime::Worker& worker);
  boost::asio::awaitable<void> ask_in_background(runtime::Worker& worker, RecordId id);
  boost::asio::awaitable<bool> settle(runtime::Worker& worker, runtime::Route route,
                                      RecordPtr record, std::string key);

  runtime::Services& services_;
  const bool is_shared_;
  std::mutex mutex_;
  std::map<RecordId, Entry> entries_;
  std::size_t asking_ = 0;
};

}  // namespace semel::execution
