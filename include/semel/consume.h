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

#include "semel/outcome.h"
#include "semel/record.h"

// `semel consume` inside a program of your own: messages from RabbitMQ, NATS JetStream or Kafka to
// a function instead of an HTTP handler, each id once. The configuration file is that of the
// program (docs/consume.md); an entry of `consume` without `to` is one for a function.
//
// The record decides, and a message is acknowledged only once its outcome is durable. If the
// process dies while a function runs, nobody knows what it did: the entry's `unknown` says what
// becomes of the message then. It is never silently run again.
namespace semel::consume {

// A message, as the broker delivered it. A handle: copies are cheap and refer to the same message.
class Message {
 public:
  const std::string& id() const;  // by the entry's `key`
  const std::string& body() const;
  const std::string& content_type() const;
  const std::vector<Header>& properties() const;  // the broker's: message_id, sequence, …
  const std::vector<Header>& headers() const;     // the publisher's
  // The value of the first header of that name, in whatever case; nullptr: there is none.
  const std::string* header(std::string_view name) const;
  bool redelivered() const;  // the broker says so; it decides nothing

  struct Inside;  // the library's own
  explicit Message(std::shared_ptr<const Inside> inside);

 private:
  std::shared_ptr<const Inside> inside_;
};

// The right to execute the message, under which the outcome will be recorded.
struct Claim {
  RecordId record;
  Token token;  // with `completes: executor`: for semel.complete in the function's transaction
  std::uint32_t attempt = 1;
};

// What a function returns. done: it has taken effect, for good. retry: it has not, so it is called
// again after the backoff. unknown: nobody knows.
Outcome done(Answer answer = {200, {}, {}});
Outcome retry(std::string why);
Outcome unknown(std::string why);

// Executes a message and says how it ended. To throw is "unknown": it may have taken effect. It may
// block; it is called on threads of its own, on several at once.
using Handler = std::function<Outcome(const Message& message, const Claim& claim)>;

// Tells how a message ended, from any thread. The first word counts. Who lets go of the last copy
// without a word has said "unknown".
class Done {
 public:
  explicit Done(std::function<void(Outcome)> tell);
  void operator()(Outcome outcome) const;

 private:
  struct Told;
  std::shared_ptr<Told> told_;
};

// The same for programs with an event loop: begins to execute the message and returns. Called on a
// thread of the consumer, which must not be held up.
using AsyncHandler = std::function<void(Message message, Claim claim, Done done)>;

// A function for the messages of one entry of `consume`.
struct Entry {
  std::string name;
  std::variant<Handler, AsyncHandler> handler;
  // Of a Handler: it is called on so many threads at once, or `in_flight`, if that is less.
  std::size_t threads = 8;
};

struct Options {
  std::string file;        // the configuration
  std::string admin = {};  // HOST:PORT where the admin listens; empty: as the file says
};

// The consumers of one process, on the store of the configuration. An embedded store belongs to one
// process: where several entries share it, give them to one Consumer.
//
// Logs to standard error as the configuration says; ignores SIGPIPE and SIGXFSZ where the program
// has not said otherwise, and handles no other signal.
class Consumer {
 public:
  // Opens the store and the admin listener; nothing is fetched yet. The error says what to do, one
  // line for each thing that is wrong.
  static std::expected<Consumer, std::string> open(const Options& options,
                                                   std::vector<Entry> entries);
  Consumer(Consumer&&) noexcept;
  Consumer& operator=(Consumer&&) noexcept;
  // run() must have returned. Waits for functions that still run: they cannot be ended. What they
  // return is no longer recorded. Not to be called from a function.
  ~Consumer();

  // Where the admin listens: "127.0.0.1:9090".
  std::string admin() const;

  // Takes messages until stop(). To be called once.
  void run();
  // Takes no more; what runs is finished, for up to `drain_timeout`, and acknowledged, the rest is
  // returned to the broker; then run() returns. From any thread, also before run(), but not from a
  // signal handler.
  void stop();

 private:
  class Impl;
  explicit Consumer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel::consume
