#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "semel/answer.h"
#include "semel/claim.h"
#include "semel/outcome.h"

// `semel consume` inside a program of your own: passes messages from RabbitMQ, NATS JetStream or
// Kafka to a function instead of an HTTP handler, once per message id. Uses the configuration file
// of `semel consume` (docs/consume.md); an entry of `consume` without `to` is for a function.
//
//   Outcome charge(const Message& message, const Claim& claim) { …; return done(); }
//   auto consumer = Consumer::open({.file = "semel.yaml"}, {{"payments", Handler(charge)}});
//   if (consumer) consumer->run();  // until consumer->stop(); else see consumer.error()
//
// The record decides, and a message is acknowledged only after its outcome is durable. If the
// process dies while a function runs, nobody knows what it did: the entry's `unknown` then decides
// about the message. The function is never silently run again.
namespace semel::consume {

// A message as the broker delivered it. A handle: copies are cheap and refer to the same message.
class Message {
 public:
  const std::string& id() const;  // found by the entry's `key`
  const std::string& body() const;
  const std::string& content_type() const;
  const std::vector<Header>& properties() const;  // the broker's: message_id, sequence, …
  const std::vector<Header>& headers() const;     // the publisher's
  // Returns the value of the first header with that name, ignoring case; nullptr: there is none.
  const std::string* header(std::string_view name) const;
  bool redelivered() const;  // as the broker reports it; decides nothing

  struct Inside;  // internal to the library
  explicit Message(std::shared_ptr<const Inside> inside);

 private:
  std::shared_ptr<const Inside> inside_;
};

// The right to execute the message. The outcome is recorded under it; with `completes: executor`,
// pass it to pg::complete in the function's transaction.
using semel::Claim;

// The outcomes that a function may return. done: the message has taken effect, for good. retry: it
// has not, so the function is called again after the backoff. unknown: nobody knows.
Outcome done(Answer answer = {200, {}, {}});
Outcome retry(std::string why);
Outcome unknown(std::string why);

// Executes a message and returns its outcome. Throwing means "unknown": the message may have taken
// effect. May block: it is called on threads reserved for it, on several at once.
using Handler = std::function<Outcome(const Message& message, const Claim& claim)>;

// Reports the outcome of a message, from any thread. Only the first call counts. Destroying the
// last copy without a call reports "unknown".
class Done {
 public:
  explicit Done(std::function<void(Outcome)> tell);
  void operator()(Outcome outcome) const;

 private:
  struct Told;
  std::shared_ptr<Told> told_;
};

// A handler for programs with an event loop: begins to execute the message, returns, and calls
// `done` later. Called on a thread of the consumer, so it must not block.
using AsyncHandler = std::function<void(Message message, Claim claim, Done done)>;

// The function that handles the messages of one entry of `consume`.
struct Entry {
  std::string name;
  std::variant<Handler, AsyncHandler> handler;
  // Number of threads that run a Handler; `in_flight`, if that is less.
  std::size_t threads = 8;
};

struct Options {
  std::string file;        // the configuration file
  std::string admin = {};  // HOST:PORT of the admin listener; empty: as the file says
};

// Runs the consumers of one process, on the store of the configuration. An embedded store belongs
// to one process: if several entries share it, give them to one Consumer.
//
// Logs to standard error or to log.file as the configuration says. Ignores SIGPIPE and SIGXFSZ
// unless the program has set their handling itself, and handles no other signal. Leaves the umask
// as it is: files of an embedded store follow it, in a folder that is closed to other users (0700).
class Consumer {
 public:
  // Opens the store and the admin listener; fetches no messages yet. The error says what to do,
  // with one line per thing that is wrong.
  static std::expected<Consumer, std::string> open(const Options& options,
                                                   std::vector<Entry> entries);
  Consumer(Consumer&&) noexcept;
  Consumer& operator=(Consumer&&) noexcept;
  // run() must have returned. Waits for functions that still run, because they cannot be ended;
  // their outcomes are no longer recorded. Must not be called from such a function.
  ~Consumer();

  // Returns the address of the admin listener: "127.0.0.1:9090".
  std::string admin() const;

  // Takes messages until stop(). Call it once.
  void run();
  // Takes no more messages. Those that run get up to `drain_timeout` to finish and are
  // acknowledged; the others are returned to the broker; then run() returns. May be called from any
  // thread, also before run(), but not from a signal handler.
  void stop();

 private:
  class Impl;
  explicit Consumer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel::consume
