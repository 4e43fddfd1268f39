#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "semel/driver/record.h"

// The name of an operation's status resource. Only the tenant that it was made for can use it, and
// nobody can guess it: it holds 128 bits that depend on the record's random handle.
//
// It names the operation and the key, not the record. The record follows from the tenant who asks,
// so that nobody can make the store look for another tenant's record: the time it takes to answer
// would tell whether there is one.
namespace semel::execution {

struct Handle {
  std::string operation;
  std::string key;
  Token proof;
};

// `key` is the record's key, as the tenant sent it.
std::string handle_text(const Record& record, std::string_view tenant, std::string_view key);
// "/.semel/operations/{handle}"
std::string status_path(const Record& record, std::string_view tenant, std::string_view key);

// nullopt: the text is no handle that this tenant was given. For another tenant's handle it may
// also return an operation and a key that nobody has.
std::optional<Handle> parse_handle(std::string_view text, std::string_view tenant);

// Returns whether the handle was made for this record and this tenant. Takes constant time.
bool fits(const Handle& handle, const Record& record, std::string_view tenant);

}  // namespace semel::execution
