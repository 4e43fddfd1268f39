#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/wire/message.h"

namespace semel::check {

// The part of an answer that tells one execution from another: members of its JSON ("/id"), the
// field Location, or the whole body if it is no JSON.
//
// A place is a witness if two executions differ in it and a retry does not. If even a retry differs
// everywhere, the places whose names say that they are identifiers are presumed: otherwise an
// endpoint that ignores keys could not be told from one that answers with nothing of its own.
class Witness {
 public:
  Witness() = default;
  // `key` is that of `first` and `retry`, whose echo proves nothing. `second` is an execution with
  // another key and the same body.
  Witness(const Answer& first, std::string_view key, const Answer& second, const Answer& retry);

  bool known() const { return !places_.empty(); }
  const std::vector<std::string>& places() const { return places_; }

  // Returns the values in an answer, joined; "": it has none of them.
  std::string of(const Answer& answer) const;
  std::vector<std::string> values(const Answer& answer) const;
  // Returns whether both answers have places in common, and are equal in all of them.
  bool same(const Answer& a, const Answer& b) const;

 private:
  std::vector<std::string> places_;
};

}  // namespace semel::check
