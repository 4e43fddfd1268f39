#pragma once

#include <map>
#include <optional>
#include <vector>

#include "semel/driver/record.h"

namespace semel::sim {

// How the life of a record came to its end. A key that is claimed after it lives anew.
enum class LifeEnd {
  goes_on,
  expired,     // its ttl and tombstone had passed
  superseded,  // completed, and claimed as new under another response_version
  forgotten,   // removed while a claim held it: only ever right after a retry outcome
  wrong,       // none of these
};

struct Written {
  Time at{};                     // true time
  int life = 0;                  // counts the lives of the key
  bool ends_life = false;        // the one before it
  std::optional<Record> record;  // nullopt: removed
};

// Everything that the store ever accepted, in order: the truth that the checkers judge by.
class History {
 public:
  // `latest_reading`: the latest time that any clock has shown so far.
  void wrote(const std::optional<Record>& before, const Record* next, Time now,
             Time latest_reading);
  // Removes the last write, as if it had never happened.
  void taken_back(const RecordId& id);

  const std::vector<Written>& of(const RecordId& id) const;
  // nullptr: the store never had that version of that record.
  const Written* find(const RecordId& id, Version version) const;
  // Where the claim with this token first appeared.
  const Written* claim_of(const RecordId& id, const Token& token) const;
  LifeEnd end_of(const RecordId& id, int life) const;

 private:
  struct Chronicle {
    std::vector<Written> writes;
    std::map<int, LifeEnd> ends;
    int life = 0;
  };
  std::map<RecordId, Chronicle> chronicles_;
};

}  // namespace semel::sim
