#include "stores/redis/layout.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/codec.h"

namespace semel::stores::redis {
namespace {

constexpr char kFormat = 1;
constexpr char kCachedFormat = 2;  // 1: without the time it was asked for
constexpr std::size_t kVersionBytes = 8;
// Format, version, state, token, whether the body is spilled: the part that the scripts look at.
constexpr std::size_t kHeaderBytes = 1 + kVersionBytes + 1 + sizeof(Token::bytes) + 1;

constexpr char kDigits[] = "0123456789abcdef";

std::string prefix(Bucket bucket) {
  return {'s', 'e', 'm', 'e', 'l', ':', '{', kDigits[bucket >> 4], kDigits[bucket & 15], '}', ':'};
}

template <std::size_t N>
std::string bytes_of(const std::array<std::uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), N};
}

// Big-endian.
std::string bytes_of(std::uint64_t number) {
  std::string out(kVersionBytes, '\0');
  for (std::size_t i = 0; i < kVersionBytes; ++i) {
    out[i] = static_cast<char>(number >> (8 * (kVersionBytes - 1 - i)));
  }
  return out;
}

std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<std::uint8_t>(byte);
  return number;
}

// CRC-16/XMODEM, as Redis Cluster uses it.
std::uint16_t crc16(std::string_view bytes) {
  std::uint16_t crc = 0;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint16_t>(static_cast<std::uint8_t>(byte) << 8);
    for (int bit = 0; bit < 8; ++bit) {
      const bool carry = crc & 0x8000;
      crc = static_cast<std::uint16_t>(crc << 1);
      if (carry) crc ^= 0x1021;
    }
  }
  return crc;
}

// Of two copies written in the same millisecond, the more final one wins.
enum Finality : char { kRunning = 0, kEnded = 1, kGone = 2 };
constexpr std::size_t kOrderBytes = 1 + kVersionBytes + 1;

std::uint64_t milliseconds_of(Time at) {
  return static_cast<std::uint64_t>(at.time_since_epoch().count());
}

std::string cached_order(Time at, Finality finality) {
  std::string out(1, kCachedFormat);
  out += bytes_of(milliseconds_of(at));
  out.push_back(finality);
  return out;
}

StoreUnavailable unreadable(const RecordId& id, const std::string& why) {
  return {.why = "record " + id.hex() + " cannot be read: " + why, .unreadable = true};
}

}  // namespace

Slot slot_of(Bucket bucket) {
  const char tag[] = {kDigits[bucket >> 4], kDigits[bucket & 15]};
  return crc16({tag, sizeof tag}) % kSlots;
}

std::string record_key(const RecordId& id) {
  return prefix(bucket_of(id)) + id.hex();
}

std::string chunks_key(const RecordId& id, const Token& token) {
  return record_key(id) + ":chunks:" + token.hex();
}

std::string waiting_key(const RecordId& id) {
  return record_key(id) + ":waiting";
}

std::string cached_key(const RecordId& id) {
  return record_key(id) + ":cached";
}

std::string due_key(Bucket bucket) {
  return prefix(bucket) + "due";
}

std::string ids_key(Bucket bucket) {
  return prefix(bucket) + "ids";
}

std::string unknown_key(Bucket bucket) {
  return prefix(bucket) + "unknown";
}

std::string proof_key(Bucket bucket) {
  return prefix(bucket) + "proof";
}

std::string channel(Bucket bucket) {
  return prefix(bucket) + "ended";
}

std::optional<Bucket> bucket_of_channel(std::string_view name) {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (channel(static_cast<Bucket>(bucket)) == name) return static_cast<Bucket>(bucket);
  }
  return std::nullopt;
}

std::string raw(const RecordId& id) {
  return bytes_of(id.bytes);
}

std::string raw(const Token& token) {
  return bytes_of(token.bytes);
}

std::optional<RecordId> id_of(std::string_view raw) {
  RecordId id;
  if (raw.size() != id.bytes.size()) return std::nullopt;
  std::memcpy(id.bytes.data(), raw.data(), raw.size());
  return id;
}

std::string raw_version(Version version) {
  return version == 0 ? std::string() : bytes_of(version);
}

std::string to_value(const Record& record, Version version) {
  std::string out(1, kFormat);
  out += raw_version(version);
  out.push_back(static_cast<char>(record.state));
  out += raw(record.token);
  out.push_back(record.answer.body_note == BodyNote::spilled ? '\1' : '\0');
  out += encode(record);
  return out;
}

StoreResult<std::shared_ptr<Record>> from_value(const RecordId& id, std::string_view value) {
  if (value.size() < kHeaderBytes) return std::unexpected(unreadable(id, "it is truncated"));
  if (value[0] != kFormat)
    return std::unexpected(unreadable(id, "its format is not supported by this version"));
  auto record = decode(value.substr(kHeaderBytes));
  if (!record) return std::unexpected(unreadable(id, record.error()));
  record->id = id;
  record->version = number_of(value.substr(1, kVersionBytes));
  return std::make_shared<Record>(*std::move(record));
}

// The value has: the format; when the record was written, and how final it is, by which the later
// copy wins; when it was asked for; its version; the record.
std::string to_cached(const Record& record, Time asked_at) {
  const bool is_running = record.state == RecordState::in_progress;
  std::string out = cached_order(record.updated_at, is_running ? kRunning : kEnded);
  out += bytes_of(milliseconds_of(asked_at));
  out += bytes_of(record.version);
  out += encode(record);
  return out;
}

std::string to_outdated(Time at, bool is_running) {
  return cached_order(at, is_running ? kRunning : kGone);
}

StoreResult<CachedCopy> from_cached(const RecordId& id, std::string_view value) {
  if (value.size() < kOrderBytes || value[0] != kCachedFormat) {
    return std::unexpected(unreadable(id, "its copy is of another format"));
  }
  value.remove_prefix(kOrderBytes);
  if (value.empty()) return CachedCopy{};
  if (value.size() < 2 * kVersionBytes) {
    return std::unexpected(unreadable(id, "its copy is truncated"));
  }
  auto record = decode(value.substr(2 * kVersionBytes));
  if (!record) return std::unexpected(unreadable(id, record.error()));
  record->id = id;
  record->version = number_of(value.substr(kVersionBytes, kVersionBytes));
  const auto asked_at = static_cast<Duration::rep>(number_of(value.substr(0, kVersionBytes)));
  return CachedCopy{std::make_shared<Record>(*std::move(record)), Time(Duration(asked_at))};
}

}  // namespace semel::stores::redis
