#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "semel/record.h"

// The name of an operation's status resource. Whoever has it cannot use it without being the tenant
// it was made for, and nobody can guess it: it holds 128 bits that depend on the record's random
// handle.
namespace semel {

struct Handle {
  RecordId id;
  Token proof;
};

std::string handle_text(const Record& record, std::string_view tenant);
// "/.semel/operations/{handle}"
std::string status_path(const Record& record, std::string_view tenant);

// nullopt: it is not the text of any handle.
std::optional<Handle> parse_handle(std::string_view text);

// Whether the handle was made for this record and this tenant. In constant time.
bool fits(const Handle& handle, const Record& record, std::string_view tenant);

}  // namespace semel
