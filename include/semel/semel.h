#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "semel/answer.h"
#include "semel/claim.h"
#include "semel/codec.h"

// Runs a function once per key:
//
//   auto engine = semel::open("embedded:/var/lib/books/semel");
//   const auto run = engine.once({"close-the-books"}, {today()}, [] { return close_the_books(); });
//   if (run) std::printf("%d accounts%s\n", *run, run.replayed() ? ", before" : "");
//
// The standard library only; no event loop. C++17.
namespace semel {
SEMEL_INLINE namespace v1 {
// The end of a call. Only the first two have an answer.
enum class Verdict {
  executed,     // now, and durable
  replayed,     // before; the function was not called
  released,     // nothing has happened (Retry, or release()): the key is free
  busy,         // somebody is at it, and did not end within Operation::wait
  mismatch,     // the key was used for another call
  unknown,      // it may have happened or not, and is held until somebody resolves it
  expired,      // the key is too old to be used again, or its answer has another version
  unavailable,  // the store cannot be used; nothing was executed. Try again with the same key
};
std::string_view to_string(Verdict verdict);  // "executed" …: stable, for logs and metrics

// The rules of an operation. Made once, shared by all threads.
struct Operation {
  std::string name;
  // hold: a key whose outcome is unknown is refused until somebody resolves it. retry: it is
  // executed again.
  enum class Unknown { hold, retry };
  Unknown unknown = Unknown::hold;
  // Whether a function that threw may have had its effect. undone: it had none, and the key is
  // free.
  enum class Throws { unknown, undone };
  Throws throws = Throws::unknown;
  std::chrono::milliseconds wait{0};  // how long a duplicate waits for the first one's answer
  std::chrono::milliseconds ttl = std::chrono::hours(24);
  std::chrono::milliseconds tombstone{0};  // after the ttl: how long the key is still refused
  std::chrono::milliseconds lease = std::chrono::seconds(30);  // renewed while the function runs …
  std::chrono::milliseconds max_execution = std::chrono::minutes(15);  // … for so long
  std::string version = "1";  // of the answer's encoding. An answer of another one is `expired`
};

// One delivery.
struct Call {
  std::string key;               // 1 to 255 characters of printable ASCII
  std::string fingerprint = {};  // must be equal in a retry; hashed, never stored
  std::string tenant = {};
  std::string trace = {};  // traceparent
  // Set for an operation that comes through the gateway as well: `fingerprint` is then compared
  // as the body of this request, on a route with `fingerprint: {body: raw, query: false}`.
  struct Http {
    std::string method = {};
    std::string path = {};
    std::string content_type = {};
  };
  Http http = {};
};

// Thrown by a function: nothing has happened, and the key is free again.
struct Retry : Error {
  using Error::Error;
};
// Thrown by a function: it failed for good. Kept, and found again by every retry.
struct Failure : Error {
  Failure(std::string code_in, const std::string& what) : Error(what), code(std::move(code_in)) {}
  std::string code;
};
// Thrown by open(): another process, or another engine, has the embedded store open.
struct StoreInUse : Error {
  using Error::Error;
};
// Thrown by open(), find(), each_unknown() and resolve(): the store cannot be used. Try again.
struct Unavailable : Error {
  using Error::Error;
};
// Thrown by Result::value() if there is no answer.
struct Refused : Error {
  Refused(Verdict verdict_in, const std::string& why) : Error(why), verdict(verdict_in) {}
  Verdict verdict;
};

// An execution under way, and the right to it: its claim, fenced. May move between threads; used
// by one at a time. One that is destroyed without finish(), release() or leave() is unknown at
// once.
class Execution : public Claim {
 public:
  Execution(Execution&&) noexcept;
  Execution& operator=(Execution&&) noexcept;
  ~Execution();
  // Another one has the claim: stop. What is returned will not count.
  bool lost() const;

 private:
  friend class Inside;
  struct Held;
  explicit Execution(std::unique_ptr<Held> held);
  std::unique_ptr<Held> held_;
};

struct Begun {
  Verdict verdict = Verdict::unavailable;
  std::optional<Execution> execution;  // set: execute. The verdict is then `executed`
  Answer answer;                       // replayed
  std::string why;                     // a sentence for people
  std::uint32_t attempt = 0;
  std::string record;  // its id, 64 hexadecimal digits
  std::optional<std::chrono::milliseconds> retry_after;
};
struct Ended {
  Verdict verdict = Verdict::unknown;
  Answer answer;  // executed, replayed: the one that counts
  std::string why;
};

// One call, for metrics.
struct Event {
  std::string_view operation;
  std::string_view record;
  Verdict verdict;
  std::uint32_t attempt;
  std::chrono::microseconds took;
};

struct Options {
  std::string name_space = "default";
  std::chrono::milliseconds patience =
      std::chrono::seconds(2);  // with a store that does not answer
  // Called with a sentence that an operator should know, on any thread; default: prints it to
  // standard error.
  std::function<void(std::string_view)> warn = {};
  // Called after each once(), on its thread.
  std::function<void(const Event&)> event = {};
};

namespace detail {
// The end of once(), before its answer is read.
struct Settled {
  Verdict verdict = Verdict::unavailable;
  Answer answer;
  std::optional<Failure> failure;
  std::string why;
  std::uint32_t attempt = 0;
  std::string record;
  std::optional<std::chrono::milliseconds> retry_after;
};
// Calls the function. Sets `returned` once it has returned: its effect has then happened,
// whatever is thrown later.
using Work = std::function<Answer(const Execution&, bool& returned)>;

struct Nothing {};
template <class T>
using Kept = std::conditional_t<std::is_void_v<T>, Nothing, T>;

template <class F>
decltype(auto) invoke(F& work, const Execution& execution) {
  if constexpr (std::is_invocable_v<F&, const Execution&>) {
    return work(execution);
  } else {
    return work();
  }
}
template <class F>
using Returns =
    std::decay_t<decltype(invoke(std::declval<F&>(), std::declval<const Execution&>()))>;

template <class T>
Answer to_answer(const T& value) {
  if constexpr (std::is_same_v<T, Answer>) {
    return value;
  } else if constexpr (std::is_same_v<T, Nothing>) {
    return Answer{204, {}, {}};
  } else {
    return Answer{200, {}, Codec<T>::encode(value)};
  }
}
template <class T>
T from_answer(Answer answer) {
  if constexpr (std::is_same_v<T, Answer>) {
    return answer;
  } else if constexpr (std::is_same_v<T, Nothing>) {
    return {};
  } else {
    return Codec<T>::decode(std::move(answer.body));
  }
}
}  // namespace detail

// The result of once().
template <class T>
class Result {
 public:
  using Value = detail::Kept<T>;

  Verdict verdict() const { return settled_.verdict; }
  bool replayed() const { return settled_.verdict == Verdict::replayed; }
  // Whether there is an answer.
  explicit operator bool() const { return value_.has_value(); }
  const Value& operator*() const { return *value_; }
  const Value* operator->() const { return &*value_; }
  // Throws Failure or Refused if there is none.
  const Value& value() const {
    if (settled_.failure) throw *settled_.failure;
    if (!value_) throw Refused(settled_.verdict, settled_.why);
    return *value_;
  }
  // Set if the function has failed for good, now or before.
  const Failure* failure() const { return settled_.failure ? &*settled_.failure : nullptr; }
  const std::string& why() const { return settled_.why; }  // a sentence for people
  // busy, unavailable: when to try again.
  std::optional<std::chrono::milliseconds> retry_after() const { return settled_.retry_after; }
  std::uint32_t attempt() const { return settled_.attempt; }
  const std::string& record() const { return settled_.record; }  // 64 hexadecimal digits

  Result(detail::Settled settled, std::optional<Value> made) : settled_(std::move(settled)) {
    if (settled_.failure) return;
    if (settled_.verdict == Verdict::executed) {
      value_ = std::move(made);
    } else if (settled_.verdict == Verdict::replayed) {
      // Too large to be kept: there is an outcome, and no answer.
      if (settled_.answer.body_note != BodyNote::kept && !std::is_void_v<T>) return;
      value_.emplace(detail::from_answer<Value>(std::move(settled_.answer)));
    }
  }

 private:
  detail::Settled settled_;
  std::optional<Value> value_;
};

class Inside;

// Runs each call once, over a store. Any thread may call anything, also at once; a call blocks
// the thread that makes it, and runs there. A process may have many engines; an embedded store
// belongs to one of them. Not to be carried over fork().
//
// Has threads of its own, for what no caller waits for: leases, expiry, claims that were dropped.
// The destructor waits for calls that are inside, and ends waits. An execution that outlives its
// engine can no longer be finished: it is unknown.
//
// Throws Error for arguments that are no good. Everything that a caller has to decide about is a
// Verdict.
class Engine {
 public:
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  // Calls work(execution), or work(), unless the key was used before. work may take a
  // `const semel::Claim&` or a `const semel::Execution&`, and returns anything that has a Codec,
  // an Answer, or nothing. Whatever it throws besides Retry and Failure passes through, once it
  // is recorded.
  template <class F>
  auto once(const Operation& operation, Call call, F&& work) {
    using T = detail::Returns<F>;
    using Value = detail::Kept<T>;
    std::optional<Value> made;
    detail::Settled settled =
        run(operation, std::move(call), [&work, &made](const Execution& execution, bool& returned) {
          if constexpr (std::is_void_v<T>) {
            detail::invoke(work, execution);
            made.emplace();
          } else {
            made.emplace(detail::invoke(work, execution));
          }
          returned = true;
          return detail::to_answer(*made);
        });
    return Result<T>(std::move(settled), std::move(made));
  }

  // The halves, for work that is no function. An answer without a status is kept as 200.
  Begun begin(const Operation& operation, Call call);
  Ended finish(Execution execution, Answer answer);     // for good
  Ended release(Execution execution, std::string why);  // nothing has happened
  Ended leave(Execution execution, std::string why);    // nobody knows
  // These do not block. `done` is called on a thread of the engine, or by the calling thread if the
  // engine is closed: it must neither block nor throw, nor destroy the engine.
  void begin(const Operation& operation, Call call, std::function<void(Begun)> done);
  void finish(Execution execution, Answer answer, std::function<void(Ended)> done);
  void release(Execution execution, std::string why, std::function<void(Ended)> done);
  void leave(Execution execution, std::string why, std::function<void(Ended)> done);

  // For people, and for jobs that clean up. These throw Unavailable if the store cannot be used.
  struct Entry {
    std::string record, tenant, operation, key, state, reason;
    std::uint32_t attempt = 0;
    std::chrono::system_clock::time_point since;
  };
  std::optional<Entry> find(const Operation& operation, const Call& call);
  // Reads the whole store. Ends when `visit` returns false.
  void each_unknown(const std::function<bool(const Entry&)>& visit);
  // Completes a record whose outcome is unknown with this answer, or releases it. False: there is
  // no such record. Throws Error with the reason if it cannot be resolved.
  bool resolve(std::string_view record, std::optional<Answer> answer, std::string who,
               std::string why);
  bool healthy() const;  // the store accepts writes

 private:
  friend Engine open(std::string_view url, Options options);
  explicit Engine(std::shared_ptr<Inside> inside);
  detail::Settled run(const Operation& operation, Call call, const detail::Work& work);
  std::shared_ptr<Inside> inside_;
};

// Opens the store:
//
//   memory:
//   embedded:PATH[?durability=crash][&cache=32MiB]
//   postgres://…[?semel.schema=semel&semel.connections=4]
//   redis://…
//   tiered:postgres://…,redis://…
//   file:semel.yaml                 the store and the namespace of a configuration
//
// Throws Error with a sentence that never holds a password.
Engine open(std::string_view url, Options options = {});

// Joins several parts to one fingerprint that has only one reading.
std::string parts(std::initializer_list<std::string_view> texts);
// Returns a JSON text's canonical form, as a fingerprint: white space, the order of members and
// the spelling of numbers make no difference. A text that is not JSON is returned as it is.
std::string canonical_json(std::string_view text);

}  // namespace v1
}  // namespace semel
