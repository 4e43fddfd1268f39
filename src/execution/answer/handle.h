#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "semel/record.h"

// The name of an operation's status resource. Whoever has it cannot use it without being the tenant
// it was made for, and nobody can guess it: it holds 128 bits that depend on the record's random
// handle.
//
// It names the operation and the key, not the record. Which record that is follows from the tenant
// who asks, so that nobody can have the store asked about another tenant's: how long the answer
// takes would tell whether there is one.
namespace semel {

struct Handle {
  std::string operation;
  std::string key;
  Token proof;
};

// `key` is the record's, as the tenant sent it.
std::string handle_text(const Record& record, std::string_view tenant, std::string_view key);
// "/.semel/operations/{handle}"
std::string status_path(const Record& record, std::string_view tenant, std::string_view key);

// nullopt: it is not the text of any handle that this tenant was given; or, of one that another was
// given, an operation and a key that nobody has.
std::optional<Handle> parse_handle(std::string_view text, std::string_view tenant);

// Whether the handle was made for this record and this tenant. In constant time.
bool fits(const Handle& handle, const Record& record, std::string_view tenant);

}  // namespace semel
