#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "check/options.h"

namespace semel::check {

// Thrown when a limit is reached or the user interrupts: the run ends and reports what it has.
struct Stopped {
  std::string why;
};

// One connection to the endpoint with one request on it, which can be held back, cut, or left
// without reading. An error shows as an answer with status 0.
class Line {
 public:
  // Sends more of the request: all but its last `keep_back` bytes.
  void send_but(std::size_t keep_back);
  void send_rest() { send_but(0); }
  // Sends the whole request twice in one write.
  void send_twice();
  Answer answer();
  // Starts another request on the same connection.
  void next(const Request& request);
  // Receives this many bytes of the answer and forgets them.
  void skip(std::size_t bytes);
  bool has_answer(Milliseconds within) const { return socket_ && socket_->has_data(within); }
  void close();
  void reset();
  std::size_t size() const { return bytes_.size(); }
  const Request& request() const { return request_; }

 private:
  friend class Client;
  Deadline deadline() const { return std::chrono::steady_clock::now() + timeout_; }

  Target target_;
  Milliseconds timeout_{};
  Request request_;
  std::string bytes_;
  std::size_t sent_ = 0;
  std::optional<Socket> socket_;
  AnswerReader reader_;
  std::string trouble_;
};

// Makes requests to one target: counts them, keeps to the rate, and stops at the limits.
class Client {
 public:
  // `interrupted` is asked before each request.
  Client(const Options& options, std::function<bool()> interrupted);

  // Opens a line for the request; nothing is sent yet. `paced` waits for its turn.
  Line open(const Request& request, bool paced = true);
  Answer exchange(const Request& request);
  // Gets a page elsewhere: a counter, a policy. Not counted.
  Answer get(const Target& target);

  int requests() const { return requests_; }
  // Throws Stopped if the run has to end.
  void check_limits() const;
  // Waits; throws Stopped if the run has to end meanwhile.
  void pause(Milliseconds time) const;
  Deadline end() const { return end_; }

 private:
  const Options& options_;
  std::function<bool()> interrupted_;
  TlsSettings tls_;
  Deadline end_;
  Deadline next_turn_;
  int requests_ = 0;
};

}  // namespace semel::check
