#include "pg/verdict.h"

#include "pg/statement.h"

namespace semel::pg {

Result without_execution(const std::string& verdict, const Rows& rows, int record_column,
                         int status_column) {
  if (verdict == "replay") {
    return Replayed{answer_from(rows, status_column), id_from(rows.bytes(0, record_column))};
  }
  if (verdict == "mismatch") return Mismatch{};
  if (verdict == "busy") return Busy{};
  if (verdict == "unknown") return Unknown{};
  if (verdict == "expired") return Expired{};
  if (verdict == "version-changed") return VersionChanged{};
  throw Error("", "the schema is newer than this library: it answered '" + verdict + "'");
}

}  // namespace semel::pg
