#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace semel {

// The text of the migrations, with `schema` for the schema's name.
std::string print_schema(std::string_view schema);

struct SchemaApplied {
  int from = 0;  // the last migration that was there; 0: none
  int to = 0;
};

// Brings the schema up to what this program knows, in one transaction. Any number of nodes may do
// so at once. A schema that is newer is refused. Blocks; for the command line and for tests. The
// error is a sentence for the operator.
std::expected<SchemaApplied, std::string> apply_schema(const std::string& url,
                                                       std::string_view schema);

// Lower-case letters, digits and underscores, not beginning with a digit or "pg_"; 63 at most.
bool is_schema_name(std::string_view name);

}  // namespace semel
