#pragma once

#include <string_view>

#include "semel/record.h"

namespace semel {

// Takes what SQL functions have noted about a record since a node wrote it (docs/formats.md, "What
// SQL writes into a record") into its history and its reason, and drops what ended with that: the
// request that was kept, and a streaming answer that had begun. A line that cannot be read is kept
// as a note as it is.
void take_notes(Record& record, std::string_view noted);

}  // namespace semel
