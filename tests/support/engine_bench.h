#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "semel/driver/engine.h"
#include "support/plain_store.h"
#include "support/virtual_time.h"

namespace semel::support {

inline Fingerprint fingerprint_of(std::string_view payload) {
  Fingerprint fingerprint;
  std::uint64_t sum = 0;
  for (char c : payload) sum = sum * 131 + static_cast<unsigned char>(c);
  std::memcpy(fingerprint.digest.data(), &sum, sizeof sum);
  fingerprint.parts = {1, 2, 3, 4, sum};
  return fingerprint;
}

inline Outcome final_outcome(std::string body, int status = 200) {
  return {OutcomeKind::final, {status, {}, std::move(body), {}}, "status"};
}
inline Outcome retry_outcome(int status = 503) {
  return {OutcomeKind::retry, {status, {}, "try again", {}}, "status"};
}
inline Outcome unknown_outcome() {
  return {OutcomeKind::unknown, {504, {}, "no answer", {}}, "no answer within 30s"};
}

class CountingTokens final : public TokenSource {
 public:
  Token next() override {
    Token token;
    ++last_;
    std::memcpy(token.bytes.data(), &last_, sizeof last_);
    return token;
  }

 private:
  std::uint64_t last_ = 0;
};

class CountingObserver final : public Observer {
 public:
  void transitioned(const Record*, const Record*, Time) override { ++transitions; }
  void left_to_others(const Record&) override { ++left_alone; }
  void lease_lost(const RecordId&) override { ++leases_lost; }
  void store_failed(std::string_view, std::string_view) override { ++store_failures; }
  void clock_stepped(Duration by) override { stepped += by; }

  int transitions = 0;
  int left_alone = 0;
  int leases_lost = 0;
  int store_failures = 0;
  Duration stepped{0};
};

// Something under way; its result once it is there.
template <typename T>
class Later {
 public:
  bool done() const { return state_->has_value(); }
  T& value() const { return state_->value(); }

 private:
  friend class EngineBench;
  std::shared_ptr<std::optional<T>> state_ = std::make_shared<std::optional<T>>();
};

// Engines over one store on one virtual clock.
class EngineBench {
 public:
  EngineBench() = default;
  ~EngineBench() {
    // Unwinds all pending work while the engines are still there, as their contract requires.
    for (const auto& engine : engines_) engine->stop();
    time.take(0);
    time.run_ready();
    held_.clear();
    engines_.clear();
    time.run_ready();
  }
  EngineBench(const EngineBench&) = delete;
  EngineBench& operator=(const EngineBench&) = delete;

  static constexpr Duration kSkew = std::chrono::seconds(1);
  static constexpr std::size_t kSweepBatch = 10;

  // Another process, or the same one after a restart.
  Engine& add_engine(std::string node) {
    EngineOptions options;
    options.owner = {std::move(node), engines_.size() + 1};
    options.skew = kSkew;
    options.sweep_batch = kSweepBatch;
    engines_.push_back(std::make_unique<Engine>(store, clock, tokens, observer, options));
    engines_.back()->run_on(io.get_executor());
    return *engines_.back();
  }

  Call call(std::string key, std::string_view payload = "pay 10") const {
    Call call;
    call.scope = scope;
    call.key = std::move(key);
    call.operation = operation;
    call.fingerprint = fingerprint_of(payload);
    return call;
  }
  RecordId id_of(std::string_view key) const { return make_id(scope, key); }
  std::optional<Record> record(std::string_view key) { return store.model().read(id_of(key)); }
  RecordState state(std::string_view key) { return record(key).value().state; }

  template <typename T>
  Later<T> start(boost::asio::awaitable<T> task) {
    Later<T> later;
    boost::asio::co_spawn(io, std::move(task),
                          [state = later.state_](std::exception_ptr failed, T value) {
                            if (failed) std::rethrow_exception(failed);
                            state->emplace(std::move(value));
                          });
    time.run_ready();
    return later;
  }
  // Starts a task that must end in an exception with the text `thrown`.
  template <typename T>
  Later<T> start(boost::asio::awaitable<T> task, std::string_view thrown) {
    Later<T> later;
    boost::asio::co_spawn(io, std::move(task),
                          [thrown = std::string(thrown)](std::exception_ptr failed, T) {
                            try {
                              if (failed) std::rethrow_exception(failed);
                            } catch (const std::exception& error) {
                              if (error.what() == thrown) return;
                            }
                            throw std::runtime_error("it did not throw: " + thrown);
                          });
    time.run_ready();
    return later;
  }
  void start(boost::asio::awaitable<void> task) {
    boost::asio::co_spawn(io, std::move(task), [](std::exception_ptr failed) {
      if (failed) std::rethrow_exception(failed);
    });
    time.run_ready();
  }

  // Until it is there, however long that takes.
  template <typename T>
  T run(boost::asio::awaitable<T> task) {
    Later<T> later = start(std::move(task));
    for (int ms = 0; ms < kPatienceMs && !later.done(); ++ms) time.run_for(Duration(1));
    if (!later.done()) throw std::runtime_error("it never ended");
    return std::move(later.value());
  }

  // Until the bench is taken down, as by an execution that goes on.
  EngineClaim hold(EngineClaim claim) { return held_.emplace_back(std::move(claim)); }
  EngineClaim claim(Engine& engine, const std::string& key) {
    return hold(std::get<admission::Execute>(run(engine.admit(call(key)))).claim);
  }

  boost::asio::io_context io{1};
  VirtualTime time{io};
  VirtualClock clock{time, 0};
  PlainStore store{time};
  CountingTokens tokens;
  CountingObserver observer;
  Operation operation;
  Scope scope{"test", "tenant", "operation"};

 private:
  static constexpr int kPatienceMs = 100'000;
  std::vector<EngineClaim> held_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace semel::support
