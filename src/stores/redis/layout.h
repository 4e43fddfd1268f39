#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "semel/driver/store.h"

// The layout of records in Redis (docs/formats.md): names of keys and the value of a record. Pure.
namespace semel::stores::redis {

// The first byte of an id is its bucket. All keys of a bucket share a hash tag, and so are on one
// server of a Cluster, where a script can change them in one step.
using Bucket = std::uint8_t;
inline constexpr std::size_t kBuckets = 256;
inline Bucket bucket_of(const RecordId& id) {
  return id.bytes[0];
}

// A slot of a Redis Cluster, and the one that a bucket's keys are in.
using Slot = std::uint16_t;
inline constexpr Slot kSlots = 16384;
Slot slot_of(Bucket bucket);

std::string record_key(const RecordId& id);
std::string chunks_key(const RecordId& id, const Token& token);
std::string waiting_key(const RecordId& id);
// The key of a cached copy of a record that another store keeps.
std::string cached_key(const RecordId& id);
// Sorted sets of a bucket. Their members are ids, 32 bytes each.
std::string due_key(Bucket bucket);      // by the time when the sweeper should look
std::string ids_key(Bucket bucket);      // all ids, in the order of their bytes
std::string unknown_key(Bucket bucket);  // unknown records, by when they became so
// A key that is written only for its place in the stream to the replicas.
std::string proof_key(Bucket bucket);
// The channel where the end of an awaited claim is published: the id, then the token.
std::string channel(Bucket bucket);
// nullopt: not one of our channels.
std::optional<Bucket> bucket_of_channel(std::string_view channel);

std::string raw(const RecordId& id);
std::string raw(const Token& token);
// nullopt: not 32 bytes.
std::optional<RecordId> id_of(std::string_view raw);

// A version as stored: 8 bytes; empty for 0, which is no version.
std::string raw_version(Version version);

// The value of a record's key.
std::string to_value(const Record& record, Version version);
// Decodes a record, which belongs to the caller. The error is StoreUnavailable with `unreadable`:
// the record exists but cannot be read.
StoreResult<std::shared_ptr<Record>> from_value(const RecordId& id, std::string_view value);

// The value of a cached copy: the record as the authoritative store returned it when it was asked
// at `asked_at`, or only the mark that everything written until a time is out of date.
struct CachedCopy {
  RecordPtr record;
  Time asked_at{};
};
std::string to_cached(const Record& record, Time asked_at);
std::string to_outdated(Time at, bool is_running);
StoreResult<CachedCopy> from_cached(const RecordId& id, std::string_view value);

}  // namespace semel::stores::redis
