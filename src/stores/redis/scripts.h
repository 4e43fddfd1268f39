#pragma once

#include <string>

namespace semel::stores::redis {

// A Lua script and the name that the server knows it by.
struct Script {
  explicit Script(std::string source);
  std::string source;
  std::string sha1;  // hex
};

// The compare-and-swap.
//   KEYS  the record; the bucket's due, ids, unknown; the record's waiting; the bucket's channel
//   ARGV  1 the expected version, "" for absent   2 the value, "" to remove   3 the id
//         4 when due, or ""   5 unknown since when, or "" (both ms)
//         6 "SPUBLISH" or "PUBLISH"
//   gives {1} or {1, count, oldest} (of the bucket's unknown records, where that changed), applied;
//         {0} or {0, value}: not at the expected version; nothing was written
// The record is written first: if that is refused (out of memory, read only), nothing is written.
const Script& swap_script();

// Removes an id from the bucket's indexes if Redis has removed its record.
//   KEYS  the record; the bucket's due, ids, unknown    ARGV  the id
//   gives 1 if it was removed
const Script& clean_script();

// Notes that somebody waits for the end of a claim.
//   KEYS  the record, its waiting    ARGV  the token; for how long, in ms
//   gives 1 if it has not ended
const Script& await_script();

// Returns the number of unknown records in the bucket, and since when the oldest is unknown.
//   KEYS  the bucket's unknown
const Script& count_script();

// Puts a copy of a record into the cache, unless there is one that was written later.
//   KEYS  the copy    ARGV  its value; for how long, in ms
const Script& fill_script();

}  // namespace semel::stores::redis
