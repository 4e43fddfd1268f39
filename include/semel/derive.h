#pragma once

#include <string>
#include <string_view>

#include "semel/claim.h"

// A stable key for a call to another service:
//
//   const auto result = std::get<pg::Executed>(pg::once(connection, orders, call, work));
//   const std::string charge_key = derive(result.record, "charge");
//   post("/charges", {{"Idempotency-Key", charge_key}}, body);
namespace semel {

// Returns the key for a call that is made while executing `record`: the same key in every attempt,
// a different key for every label. The key has 43 characters of A–Z a–z 0–9 - _, short enough for
// providers that accept only short keys. It cannot be guessed without knowing the record's id.
//
// Use one label per call. A service that deduplicates by the key would take two calls under one
// label for the same call. docs/formats.md has the grammar: every language derives the same key.
std::string derive(const RecordId& record, std::string_view label);

}  // namespace semel
