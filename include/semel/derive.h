#pragma once

#include <string>
#include <string_view>

#include "semel/record.h"

namespace semel {

// The stable key for a call that is made while executing `record`: the same for every attempt,
// another one for every label. 43 characters of A–Z a–z 0–9 - _, so that providers that take short
// keys take it, too. Whoever does not know the record's id cannot guess it.
//
// One label names one call. Two calls under one label would be taken for the same by whoever
// deduplicates by the key. docs/formats.md has the grammar: every language gives the same key.
std::string derive(const RecordId& record, std::string_view label);

}  // namespace semel
