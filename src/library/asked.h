#pragma once

#include <memory>
#include <string>

#include "library/face.h"
#include "semel/driver/engine.h"

namespace semel::library {

// One call, as the driver's engine takes it.
struct Asked {
  Scope scope;
  RecordId id;
  std::string key;
  std::string shown_key;  // "": the key itself
  std::string trace;
  Operation operation;
  Duration wait{0};
  Recipe recipe;
  Fingerprint fingerprint;
  std::shared_ptr<const v1::Call> given;  // what is compared, if the record has another recipe

  Call call() const;
};

// Checks the arguments and computes the record's id and the fingerprint. Throws v1::Error.
Asked make_asked(const std::string& name_space, bool hides_keys, const v1::Operation& operation,
                 v1::Call call);

}  // namespace semel::library
