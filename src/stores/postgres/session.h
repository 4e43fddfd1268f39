#pragma once

#include <expected>
#include <string>

#include "postgres/link.h"
#include "stores/postgres/rows.h"

// Opens a connection of the store, and names its prepared statements.
namespace semel::stores {

// The names of the prepared statements.
namespace pg_statement {
inline constexpr const char* kHello = "hello";
inline constexpr const char* kSwap = "swap";
inline constexpr const char* kRead = "read";
inline constexpr const char* kSweep = "sweep";
inline constexpr const char* kScan = "scan";
inline constexpr const char* kListLeases = "list_leases";
inline constexpr const char* kRemoveExpired = "remove_expired";
inline constexpr const char* kPutChunk = "put_chunk";
inline constexpr const char* kGetChunk = "get_chunk";
inline constexpr const char* kDropChunks = "drop_chunks";
inline constexpr const char* kAwait = "await";
inline constexpr const char* kStats = "stats";
inline constexpr const char* kKeepDays = "keep_days";
inline constexpr const char* kDropOrphans = "drop_orphans";
inline constexpr const char* kStandbys = "standbys";
}  // namespace pg_statement

enum class PgPurpose { records, listening };

struct PgSessionError {
  std::string why;
  bool unfit = false;  // the server was reached and must not be used: no retry helps
};

struct PgSession {
  postgres::PgLink link;
  PgItemTypes item_types;
};

// Connects, checks that it is the server itself with this program's schema, and prepares the
// session. Blocks for at most connect_timeout (of the URL; default 3 s) per host of the URL, and 10
// s.
std::expected<PgSession, PgSessionError> open_pg_session(const std::string& url,
                                                         const std::string& schema,
                                                         PgPurpose purpose);

}  // namespace semel::stores
