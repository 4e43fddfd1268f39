#include "stores/embedded/layout.h"

#include <algorithm>
#include <cstring>

namespace semel::stores {
namespace {

constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;
constexpr std::size_t kNumberBytes = 8;

void put_number(char* out, std::uint64_t value, std::size_t bytes = kNumberBytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
  }
}

std::uint64_t get_number(const char* in, std::size_t bytes = kNumberBytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(in[i]);
  return value;
}

void put_time(char* out, Time time) {
  put_number(out, static_cast<std::uint64_t>(time.time_since_epoch().count()) ^ kSignBit);
}

Time get_time(const char* in) {
  return Time(Duration(static_cast<std::int64_t>(get_number(in) ^ kSignBit)));
}

}  // namespace

std::array<char, kHeadBytes> head_bytes(const Head& head) {
  std::array<char, kHeadBytes> out;
  put_number(out.data(), head.version);
  put_time(out.data() + 8, head.due);
  put_time(out.data() + 16, head.unknown_since);
  return out;
}

std::optional<Head> parse_head(std::string_view value) {
  if (value.size() < kHeadBytes) return std::nullopt;
  const Head head{.version = get_number(value.data()),
                  .due = get_time(value.data() + 8),
                  .unknown_since = get_time(value.data() + 16)};
  if (head.version == 0) return std::nullopt;
  return head;
}

std::array<char, kIndexKeyBytes> index_key(Index index, Time at, const RecordId& id) {
  std::array<char, kIndexKeyBytes> out;
  out[0] = static_cast<char>(index);
  put_time(out.data() + 1, at);
  std::memcpy(out.data() + 9, id.bytes.data(), id.bytes.size());
  return out;
}

std::optional<IndexEntry> parse_index_key(Index index, std::string_view key) {
  if (key.size() != kIndexKeyBytes || key[0] != static_cast<char>(index)) return std::nullopt;
  return IndexEntry{.at = get_time(key.data() + 1), .id = *parse_id(key.substr(9))};
}

std::string chunks_prefix(const RecordId& id, const Token& token) {
  std::string out(core::bytes_of(id));
  out.append(reinterpret_cast<const char*>(token.bytes.data()), token.bytes.size());
  return out;
}

std::string chunk_key(const RecordId& id, const Token& token, std::uint32_t index) {
  return chunks_prefix(id, token) + number_bytes(index, sizeof index);
}

std::optional<ChunksOf> parse_chunk_key(std::string_view key) {
  if (key.size() != kChunksPrefixBytes + sizeof(std::uint32_t)) return std::nullopt;
  ChunksOf of;
  of.id = *parse_id(key.substr(0, of.id.bytes.size()));
  std::memcpy(of.token.bytes.data(), key.data() + of.id.bytes.size(), of.token.bytes.size());
  return of;
}

std::string number_bytes(std::uint64_t value, std::size_t bytes) {
  std::string out(bytes, '\0');
  put_number(out.data(), value, bytes);
  return out;
}

std::optional<std::uint64_t> parse_number(std::string_view text, std::size_t bytes) {
  if (text.size() != bytes) return std::nullopt;
  return get_number(text.data(), bytes);
}

std::optional<RecordId> parse_id(std::string_view key) {
  RecordId id;
  if (key.size() != id.bytes.size()) return std::nullopt;
  std::memcpy(id.bytes.data(), key.data(), key.size());
  return id;
}

}  // namespace semel::stores
