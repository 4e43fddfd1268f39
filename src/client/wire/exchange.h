#pragma once

#include <expected>
#include <string>

#include "client/wire/connections.h"
#include "semel/answer.h"
#include "semel/time.h"

namespace semel::client {

// What became of one try.
struct Tried {
  std::expected<Answer, Failure> result;
  bool sent = false;      // bytes of the request may have reached the server
  bool was_idle = false;  // the connection had waited, and ended before any byte of an answer
  Duration took{0};
};

struct Exchange {
  std::string head = {};  // up to and with the empty line
  std::string body = {};
  bool is_head = false;  // the method
  bool fresh_connection = false;
  std::size_t answer_bytes_max = 0;
};

// Sends the request once and reads the answer. Nothing is sent a second time here, whatever
// happens to the connection.
Tried exchange(Connections& connections, const Exchange& request, const Limits& limits);

}  // namespace semel::client
