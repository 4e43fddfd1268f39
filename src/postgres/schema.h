#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "postgres/link.h"

namespace semel::postgres {

// Returns what apply_schema() does as SQL for psql, for the given schema name.
std::string print_schema(std::string_view schema);

struct SchemaApplied {
  int from = 0;  // the last migration found; 0: none
  int to = 0;
  bool functions = false;  // the functions were replaced
};

// Brings the schema up to date with this program, in one transaction. Any number of nodes may call
// it at once. Refuses a schema that is newer, or that was made from other files. Blocks; for the
// command line and for tests. The error is a sentence for the operator.
std::expected<SchemaApplied, std::string> apply_schema(const std::string& url,
                                                       std::string_view schema);

struct SchemaMisfit {
  std::string why;     // a sentence for the operator
  bool unfit = false;  // the server was reached, but its schema does not fit this program
};

// nullopt: the schema is what this program would apply, file by file.
std::optional<SchemaMisfit> misfit_of_schema(PgLink& link, const std::string& schema);
// nullopt: this role may do everything that a gateway and a relay do.
std::optional<SchemaMisfit> misfit_of_rights(PgLink& link, const std::string& schema);

// Accepts up to 63 lower-case letters, digits and underscores, not beginning with a digit or "pg_".
bool is_schema_name(std::string_view name);

}  // namespace semel::postgres
