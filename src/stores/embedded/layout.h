#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/record_bytes.h"
#include "semel/driver/record.h"
#include "semel/time.h"

// How the embedded store lays records out in RocksDB. Format version 2; numbers are big-endian.
//
//   store         = four column families: "default" (meta), "records", "index",
//                   "chunks"; version 1 lacks the last one
//
//   meta          = "format"   -> format-version
//                 | "versions" -> version-limit
//   format-version= u32                     ; 2. A store with a higher number is not opened.
//   version-limit = u64                     ; every version below it may have been given out
//
//   records       = record-id -> version due unknown-since encoding
//   record-id     = 32 bytes
//   version       = u64                     ; never 0
//   due           = time                    ; due_at() when the record was written
//   unknown-since = time                    ; updated_at of an unknown record, else never
//   encoding      = encode() of the record  ; carries its own version and checksum
//
//   index         = "d" due record-id           -> empty    ; exactly if due is not never
//                 | "u" unknown-since record-id -> empty    ; exactly if it is not never
//
//   chunks        = record-id token chunk-index -> bytes
//   token         = 16 bytes                ; of the attempt that made them
//   chunk-index   = u32                     ; from 0
//
//   time          = u64     ; milliseconds since 1970 plus 2^63, so that bytes sort as times do
//   never         = 8 x %xff
//
// A record, its index entries and the end of its chunks change in one atomic write.
namespace semel::stores {

inline constexpr std::uint32_t kEmbeddedFormat = 2;
inline constexpr std::size_t kFormatBytes = 4;

inline constexpr std::string_view kRecordsFamily = "records";
inline constexpr std::string_view kIndexFamily = "index";
inline constexpr std::string_view kChunksFamily = "chunks";
inline constexpr std::string_view kFormatKey = "format";
inline constexpr std::string_view kVersionsKey = "versions";

// The part of a record that the commit thread reads; the encoding is opaque to it.
struct Head {
  Version version = 0;
  Time due = kNever;
  Time unknown_since = kNever;
};
inline constexpr std::size_t kHeadBytes = 24;

// A record as stored.
struct Stored {
  Head head;
  std::string encoding;
};

enum class Index : char { due = 'd', unknown = 'u' };
inline constexpr std::size_t kIndexKeyBytes = 1 + 8 + 32;

struct IndexEntry {
  Time at{};
  RecordId id;
};

std::array<char, kHeadBytes> head_bytes(const Head& head);
// nullopt: these bytes are not the value of a record.
std::optional<Head> parse_head(std::string_view value);

std::array<char, kIndexKeyBytes> index_key(Index index, Time at, const RecordId& id);
// nullopt: this is not a key of that index.
std::optional<IndexEntry> parse_index_key(Index index, std::string_view key);

// The prefix of the keys of all chunks of one attempt, and the key of one chunk.
inline constexpr std::size_t kChunksPrefixBytes = 32 + 16;
std::string chunks_prefix(const RecordId& id, const Token& token);
std::string chunk_key(const RecordId& id, const Token& token, std::uint32_t index);
struct ChunksOf {
  RecordId id;
  Token token;
};
// nullopt: this is not the key of a chunk.
std::optional<ChunksOf> parse_chunk_key(std::string_view key);

std::string number_bytes(std::uint64_t value, std::size_t bytes);
// nullopt: not a number of that size.
std::optional<std::uint64_t> parse_number(std::string_view text, std::size_t bytes);

// nullopt: not 32 bytes.
std::optional<RecordId> parse_id(std::string_view key);

}  // namespace semel::stores
