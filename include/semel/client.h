#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "semel/answer.h"

// A client that may repeat a request and causes one effect:
//
//   semel::Client shop({"https://api.shop.example", {{"Authorization", token}}, "./keys"});
//   const semel::Sent sent = shop.post("/v1/charges", body, semel::Key::named("order-1001"));
//   if (sent.end == semel::Sent::End::unknown) alert(sent.why);  // never again with a new key
//
// The key is made before the first byte is sent, and is the same in every try. docs/client.md has
// the rules. Calls block. C++17.
namespace semel {

struct Claim;

// The idempotency key of one call.
class Key {
 public:
  enum class Format { v4, v7 };
  // A random UUID; v7 begins with the time, for those who sort by it. Not sent with GET, HEAD,
  // OPTIONS and TRACE, which need none.
  static Key fresh(Format format = Format::v4);
  // The key that the keys file has for this name. If there is none, one is made, and is on disk
  // before the first byte is sent: a program that was killed and started again repeats the same
  // operation.
  static Key named(std::string name, Format format = Format::v4);
  // Sent as it is: 1 to 255 characters of printable ASCII.
  static Key given(std::string key);
  // The key for a call that is made while executing `claim` (derive.h): the same in every attempt.
  static Key derived(const Claim& claim, std::string_view label);
  // No key. POST and PATCH are then tried once.
  static Key none();

 private:
  friend class Client;
  enum class Kind { none, fresh, given, named };
  Key(Kind kind, std::string text, std::string name);
  Kind kind_;
  std::string text_;  // the key; of a name that is new: the one to write down
  std::string name_;
};

// Ends calls at once. request() may be called by any thread and by a signal handler. Copies share
// one state.
class Stop {
 public:
  Stop();
  void request() const noexcept;
  bool requested() const noexcept;
  int descriptor() const noexcept;  // readable once requested

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

// Tokens that retries cost: 5 per retry, 10 after a timeout; success gives them back. Without
// tokens nothing is retried, so that many callers of a server in trouble do not add to it. Any
// thread.
class RetryBudget {
 public:
  static constexpr int kTokens = 500;
  explicit RetryBudget(int tokens = kTokens);
  bool take(int tokens) noexcept;  // false: there are not so many, and none was taken
  void give_back(int tokens) noexcept;
  int left() const noexcept;

 private:
  const int max_;
  std::atomic<int> left_;
};

struct RetryRules {
  int tries_max = 8;
  std::chrono::milliseconds deadline = std::chrono::minutes(2);  // for the whole call
  std::chrono::milliseconds try_timeout = std::chrono::seconds(30);
  // Full jitter: a pause is drawn from zero to backoff_min, doubled per retry, backoff_max at most.
  std::chrono::milliseconds backoff_min = std::chrono::milliseconds(200);
  std::chrono::milliseconds backoff_min_throttled = std::chrono::seconds(1);  // after 429 and 503
  std::chrono::milliseconds backoff_max = std::chrono::seconds(20);
  // A longer Retry-After ends the call, and is reported.
  std::chrono::milliseconds retry_after_max = std::chrono::seconds(60);
  std::shared_ptr<RetryBudget> budget = {};  // null: the one of the process
};

// The result of a call.
struct Sent {
  enum class End {
    answered,  // by the server, now; the status may be any that is not retried
    replayed,  // the answer of an earlier request with this key
    refused,   // 400, 410 or 422: this key and this request will not do
    gave_up,   // no final answer; see same_key_may_retry
    unknown,   // it may have happened, and the server cannot say
  };
  End end = End::gave_up;
  Answer answer;    // the last one; status 0: there was none
  std::string key;  // "": none was sent
  int tries = 0;
  std::chrono::milliseconds took{0};
  bool same_key_may_retry = false;
  bool new_key_safe = false;  // false: a new key could cause a second effect
  bool stopped = false;       // by Stop
  std::string why;            // in words
  std::optional<std::chrono::system_clock::time_point> key_expires;
  std::optional<std::chrono::system_clock::time_point> retry_at;  // as the server asked
};
std::string_view to_string(Sent::End end);  // "answered" …: stable, for logs and metrics

// Connects by TLS 1.2 or 1.3 and verifies the server's certificate and name. Empty: the system's
// certificates, none of our own.
struct ClientTls {
  std::string ca_file = {};
  std::string certificate_file = {};
  std::string key_file = {};
};

// One try, for a log.
struct TryReport {
  int number = 0;      // from 1
  std::string result;  // "201", "409 in-progress", "the connection was reset", …
  std::string key;     // "": none
  std::chrono::milliseconds took{0};
  bool retries = false;
  std::chrono::milliseconds pause{0};  // before the next try
};

struct ClientOptions {
  std::string base_url;              // https://host:port/prefix
  std::vector<Header> headers = {};  // of every request
  std::string keys_file = {};        // for Key::named; made with mode 0600
  RetryRules retry = {};
  ClientTls tls = {};
  std::string key_header = "Idempotency-Key";
  bool bare_key = false;  // the key without quotes, for servers that take no RFC 9651 String
  bool follow = false;    // after 202 with Location: ask there until the operation has ended
  std::size_t answer_bytes_max = std::size_t{64} << 20;
  std::function<void(const TryReport&)> on_try = {};  // called on the thread of the call
};

struct ClientRequest {
  std::string method;
  std::string path;  // after base_url; may have a query
  std::string body = {};
  std::vector<Header> headers = {};  // replace those of the options that have the same name
};

// Sends requests to one server. Any thread; keeps connections. Nothing is sent twice but by the
// rules of `retry`, and every try is counted.
class Client {
 public:
  using Options = ClientOptions;
  using Request = ClientRequest;
  // Nothing was sent: the URL, a header, the key or the keys file is no good, or the name stands
  // for another request. what() says what to do.
  struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  explicit Client(Options options);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Returns when there is a final answer, the rules allow no further try, or `stop` was requested.
  Sent send(const Request& request, const Key& key = Key::fresh(), const Stop* stop = nullptr);
  Sent post(std::string path, std::string body, const Key& key = Key::fresh());

  // Removes a name from the keys file, once its operation is over for good. False: not there.
  bool forget(const std::string& name);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace semel
