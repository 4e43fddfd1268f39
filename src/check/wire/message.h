#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "check/wire/socket.h"

// HTTP/1 messages as they are on the wire. Requests are written byte for byte as given, bad ones
// too.
namespace semel::check {

struct Field {
  std::string name;
  std::string value;
};

struct Request {
  std::string method;
  std::string path;  // with the query
  std::vector<Field> fields{};
  std::string body{};
  std::string shown_key{};  // for reports

  void set(std::string_view name, std::string value);
};

// Adds Host, User-Agent and Content-Length.
std::string request_bytes(const Request& request, const Target& target);

struct Answer {
  int status = 0;       // 0: none came
  std::string trouble;  // why none came
  std::vector<Field> fields;
  std::string body;
  std::size_t head_bytes = 0;
  bool keeps_open = false;  // the connection may be used again

  bool ok() const { return status >= 200 && status < 300; }
  // Returns the first value; "": the field is absent.
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  // "201", or the reason why there is no answer.
  std::string shown() const;
};

// Reads the answers of one connection, in turn. Interim (1xx) answers are left out.
class AnswerReader {
 public:
  Answer read(Socket& socket, std::string_view method, Deadline deadline);
  // Receives this many bytes and forgets them. False: the connection ended before.
  static bool skip(Socket& socket, std::size_t bytes, Deadline deadline);

 private:
  std::string fill(Socket& socket, Deadline deadline);
  std::string read_head(Socket& socket, Answer& answer, Deadline deadline);
  std::string read_body(Socket& socket, Answer& answer, Deadline deadline);
  std::string read_sized(Socket& socket, std::size_t size, std::string& into, Deadline deadline);
  std::string read_line(Socket& socket, std::string& line, Deadline deadline);
  std::string read_chunks(Socket& socket, Answer& answer, Deadline deadline);

  std::string buffer_;
  bool ended_ = false;
};

}  // namespace semel::check
