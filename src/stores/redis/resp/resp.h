#pragma once

#include <expected>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct redisReader;
struct redisReply;

// The protocol of Redis (RESP2), with the formatter and reader of hiredis. No I/O.
namespace semel::stores::resp {

// Returns one command as it goes over the wire.
std::string resp_command(std::span<const std::string_view> arguments);
std::string resp_command(std::initializer_list<std::string_view> arguments);

// A server's reply. Views into it live as long as it does.
class RespReply {
 public:
  RespReply() : part_(nullptr) {}  // nil
  explicit RespReply(redisReply* owned);

  bool is_error() const;
  bool is_nil() const;
  // The text of a string, a status or an error; empty for everything else.
  std::string_view text() const;
  // nullopt: neither an integer nor a string that is one.
  std::optional<long long> number() const;
  std::size_t size() const;  // of an array; 0 for everything else
  // An element of an array. Beyond its end: nil.
  RespReply at(std::size_t index) const;

 private:
  RespReply(std::shared_ptr<redisReply> whole, const redisReply* part);

  std::shared_ptr<redisReply> whole_;
  const redisReply* part_;
};

// Cuts a stream of bytes into replies.
class RespReader {
 public:
  RespReader();

  // Appends bytes, in pieces of any size, and keeps them until the next reply is complete.
  void feed(std::string_view bytes);
  // Returns the next reply; nullopt: more bytes are needed. The error says why this is not RESP2;
  // the stream is then of no use.
  std::expected<std::optional<RespReply>, std::string> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace semel::stores::resp
