#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The answer of an operation, as it is kept and replayed:
//
//   const Answer made{201, {{"Content-Type", "application/json"}}, body};
//   if (again.body_note == BodyNote::omitted) fetch(order);  // it was too large to keep
//   assert(again == made);
namespace semel {

struct Header {
  std::string name;
  std::string value;
  // Written out, here and below, for programs in C++17.
  friend bool operator==(const Header& a, const Header& b) {
    return a.name == b.name && a.value == b.value;
  }
};

enum class BodyNote : std::uint8_t {
  kept = 0,     // `body` holds the whole body
  omitted = 1,  // the answer had a body too large to store
  spilled = 2,  // the body is in chunks beside the record, under the record's token
};

// The part of the executor's answer that is kept.
struct Answer {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  BodyNote body_note = BodyNote::kept;
  std::uint64_t spilled_bytes = 0;  // size of a spilled body
  friend bool operator==(const Answer& a, const Answer& b) {
    return a.status == b.status && a.headers == b.headers && a.body == b.body &&
           a.body_note == b.body_note && a.spilled_bytes == b.spilled_bytes;
  }
};

}  // namespace semel
