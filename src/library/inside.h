#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/system_clock.h"
#include "library/asked.h"
#include "library/face.h"
#include "library/store_url.h"
#include "library/warnings.h"

namespace semel {

// The parts behind v1::Engine: the store, the driver's engine over it, and a thread for what no
// caller waits for. Outlives its v1::Engine, closed, while there are executions that were begun.
class v1::Inside : public std::enable_shared_from_this<v1::Inside> {
 public:
  // Throws Error.
  static std::shared_ptr<Inside> open(std::string_view url, Options options);
  ~Inside();
  // Waits for the calls inside, and closes the store.
  void close();

  detail::Settled run(const Operation& operation, Call call, const detail::Work& work);
  Begun begin(const Operation& operation, Call call);
  void begin(const Operation& operation, Call call, std::function<void(Begun)> done);
  Ended end(Execution execution, const semel::Outcome& outcome);
  void end(Execution execution, const semel::Outcome& outcome, std::function<void(Ended)> done);

  std::optional<Engine::Entry> find(const Operation& operation, const Call& call);
  void each_unknown(const std::function<bool(const Engine::Entry&)>& visit);
  bool resolve(std::string_view record, std::optional<Answer> answer, std::string who,
               std::string why);
  bool healthy();

  // A call that is inside. False: the engine is closed.
  class Stay {
   public:
    explicit Stay(Inside& inside);
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    explicit operator bool() const { return is_in_; }

   private:
    Inside& inside_;
    bool is_in_;
  };

 private:
  friend struct Execution::Held;
  Inside(library::NamedStore named, Options options);

  library::Asked ask(const Operation& operation, Call call) const;
  // Returns the answer if the store has it in memory.
  std::optional<Begun> recorded(const library::Asked& asked) const;
  Begun begin_here(const library::Asked& asked);
  boost::asio::awaitable<Begun> admitted(library::Asked asked);
  // Waits until the claim on the record may have ended. False: it is time to give up.
  boost::asio::awaitable<bool> wait_for(RecordPtr busy, SteadyTime until);
  boost::asio::awaitable<Begun> to_begun(Admission admission, const library::Asked& asked);
  boost::asio::awaitable<Begun> to_replayed(RecordPtr record);
  boost::asio::awaitable<void> gather_body(const Record& record, Answer& answer);
  boost::asio::awaitable<Ended> ended(EngineClaim claim, semel::Outcome outcome);
  // Calls the function and records its end. `failed`: what it threw.
  detail::Settled execute(const Operation& operation, Execution execution, const detail::Work& work,
                          std::exception_ptr& failed);

  Options options_;
  const bool hides_keys_;
  library::Warnings warnings_;
  library::LibraryObserver observer_;
  engine::SystemClock machine_clock_;
  engine::SystemTokens tokens_;
  std::unique_ptr<Store> store_;
  std::optional<semel::Engine> engine_;
  std::unique_ptr<boost::asio::io_context> context_;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t calls_ = 0;
  std::atomic<bool> closing_ = false;
  std::atomic<std::size_t> held_ = 0;
};

// A claim of the driver's engine in the hands of the program.
struct v1::Execution::Held {
  Held(std::shared_ptr<Inside> inside, EngineClaim claim);
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  const std::shared_ptr<Inside> inside;
  const RecordId id;
  EngineClaim claim;  // moved from by the one who ends it
  const std::shared_ptr<std::atomic<bool>> lost = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace semel
