#pragma once

#include <string_view>

#include "semel/driver/record.h"

namespace semel::stores {

// Adds the notes that SQL functions have made about a record since a node wrote it
// (docs/formats.md, "What SQL writes into a record") to its history and its reason, and drops what
// ended with them: the kept request, and a streaming answer that had begun. A line that cannot be
// read is kept as a note unchanged.
void take_notes(Record& record, std::string_view noted);

}  // namespace semel::stores
