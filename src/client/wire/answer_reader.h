#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/wire/failure.h"
#include "semel/answer.h"

namespace semel::client {

// Reads one answer of HTTP/1 from pieces of any size, without I/O. Interim answers are skipped.
// Strict: what two parsers could read differently is refused, and an answer whose end did not
// arrive is never taken for a whole one.
class AnswerReader {
 public:
  AnswerReader(bool to_head_request, std::size_t body_bytes_max)
      : to_head_request_(to_head_request), body_bytes_max_(body_bytes_max) {}

  // Takes more bytes. The error ends the answer.
  std::optional<Failure> put(std::string_view bytes);
  // The connection has ended. nullopt: the answer is whole.
  std::optional<Failure> end();

  bool done() const { return state_ == State::done; }
  bool begun() const { return begun_; }
  // The connection can serve another request: the answer said where it ends, and nothing followed.
  bool reusable() const { return done() && keeps_ && buffer_.empty(); }
  Answer take() { return std::move(answer_); }

 private:
  enum class State { head, length, chunk_size, chunk, chunk_end, trailer, until_end, done };
  std::optional<Failure> step(bool& moved);
  std::optional<Failure> read_head(std::string_view head);
  std::optional<Failure> read_field(std::string_view line);
  std::optional<Failure> begin_body();
  std::optional<Failure> read_chunk_size(std::string_view line);
  std::optional<Failure> add(std::size_t bytes);
  std::optional<std::string_view> next_line();
  void drop(std::size_t bytes) { buffer_.erase(0, bytes); }

  const bool to_head_request_;
  const std::size_t body_bytes_max_;
  State state_ = State::head;
  std::string buffer_;
  std::string line_;  // the one that next_line() returned
  Answer answer_;
  std::uint64_t left_ = 0;  // of the body or the chunk
  bool begun_ = false;
  bool keeps_ = true;
};

// Returns the value of the first field with that name, ignoring case; nullptr: there is none.
const std::string* find_header(const Answer& answer, std::string_view name);

}  // namespace semel::client
