#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "runtime/worker.h"
#include "semel/record.h"

// Asks executors what became of attempts whose outcome is unknown (`unknown: probe`).
//
// Only the executor's own word counts: Idempotency-Outcome: final or retry. A bare 404 may come
// from an attempt that has not begun yet, or from a mistyped URL; taking it for "did not happen"
// would let a second attempt run beside the first.
namespace semel {

class Prober {
 public:
  explicit Prober(Services& services)
      : services_(services), is_shared_(!services.store.features().exclusive) {}

  // Asks about an unknown record, for a request that came with its key. True: it is known now, look
  // at the record again. False: still unknown, or not asked because somebody asks already, the last
  // time was too recent, or too many are being asked.
  boost::asio::awaitable<bool> ask(Worker& worker, Route route, RecordPtr record, std::string key);

  // A record has become unknown: it is asked about in the background. Thread-safe.
  void became_unknown(const Record& record, Time now);

  // Asks in the background, beginning with what the store knows as unknown, on whatever node it
  // became so. On a shared store that is looked at again now and then. Never returns.
  boost::asio::awaitable<void> run(Worker& worker);

 private:
  static constexpr Duration kPauseMin = std::chrono::seconds(1);
  static constexpr Duration kPauseMax = std::chrono::seconds(60);
  struct Entry {
    Time next{};  // when it is due in the background
    Backoff pauses{kPauseMin, kPauseMax};
    bool asking = false;
    bool asked = false;  // and so a request has to wait until `next`, too
  };

  bool begin(const RecordId& id, Time now);
  void end(const RecordId& id, bool settled, Time now);
  void note(const RecordId& id, Time next);
  void forget(const RecordId& id);
  void forget_all();
  std::vector<RecordId> due(Time now);
  bool may_have_missed();
  boost::asio::awaitable<bool> note_stored(Worker& worker);
  boost::asio::awaitable<void> ask_in_background(Worker& worker, RecordId id);
  boost::asio::awaitable<bool> settle(Worker& worker, Route route, RecordPtr record,
                                      std::string key);

  Services& services_;
  const bool is_shared_;
  std::mutex mutex_;
  std::map<RecordId, Entry> entries_;
  std::size_t asking_ = 0;
};

}  // namespace semel
