#pragma once

#include <string>

namespace semel::client {

// Why a try has no answer.
struct Failure {
  enum class Kind {
    unreachable,    // there was no connection
    misconfigured,  // certificate, name or scheme are wrong: a retry cannot help
    broken,         // the connection ended, or its bytes are no answer
    timeout,
    too_large,  // the answer
    stopped,
  };
  Kind kind = Kind::broken;
  std::string text;  // a phrase
};

}  // namespace semel::client
