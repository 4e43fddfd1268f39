#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "postgres/link.h"

namespace semel {

// What apply_schema() does, as SQL for psql, with `schema` for the schema's name.
std::string print_schema(std::string_view schema);

struct SchemaApplied {
  int from = 0;  // the last migration that was there; 0: none
  int to = 0;
  bool functions = false;  // they were replaced
};

// Brings the schema up to what this program knows, in one transaction. Any number of nodes may do
// so at once. A schema that is newer is refused, and so is one of other files. Blocks; for the
// command line and for tests. The error is a sentence for the operator.
std::expected<SchemaApplied, std::string> apply_schema(const std::string& url,
                                                       std::string_view schema);

struct SchemaMisfit {
  std::string why;     // a sentence for the operator
  bool unfit = false;  // the server was reached, and its schema is not for this program
};

// nullopt: the schema is what this program would apply, file by file.
std::optional<SchemaMisfit> misfit_of_schema(PgLink& link, const std::string& schema);
// nullopt: this role may do all that a gateway and a relay do.
std::optional<SchemaMisfit> misfit_of_rights(PgLink& link, const std::string& schema);

// Lower-case letters, digits and underscores, not beginning with a digit or "pg_"; 63 at most.
bool is_schema_name(std::string_view name);

}  // namespace semel
