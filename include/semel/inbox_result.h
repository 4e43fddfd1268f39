#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "semel/record.h"

namespace semel {

// What became of a message, and so what the broker is to be told.
namespace inbox {
// It is done, and durably so: acknowledge it. (Inside a transaction: once that has committed.)
struct Done {
  Answer answer;        // the handler's, of now or of then
  bool before = false;  // it had been done before: the handler was not called
};
// It is not done: have it delivered again, later.
struct Again {
  std::string why;
  std::uint32_t attempt = 0;  // how often it was tried; 0: somebody else is at it, or no store
};
// The handler was called, and nobody knows whether it took effect. It is not called again under
// `unknown: hold`: put the message aside.
struct Unknown {
  Record record;  // inside a transaction: nothing but its id
};
// Another message has used the id, or its record has expired: put it aside.
struct Refused {
  std::string why;
};
}  // namespace inbox
using InboxResult = std::variant<inbox::Done, inbox::Again, inbox::Unknown, inbox::Refused>;

}  // namespace semel
