#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#ifdef __cpp_impl_three_way_comparison
#include <compare>
#endif

// The right to execute, as services see it, whoever granted it: the gateway, a consumer, or
// semel.claim in PostgreSQL.
//
//   Answer take_order(const Claim& claim) {
//     return charge(claim.derive("charge"), claim.attempt > 1 ? "again" : "first");
//   }
//
// C++17.
namespace semel {

// SHA-256 of the length-prefixed namespace, tenant, operation and key. Names one record.
struct RecordId {
  std::array<std::uint8_t, 32> bytes{};
#ifdef __cpp_impl_three_way_comparison
  auto operator<=>(const RecordId&) const = default;
#else
  bool operator==(const RecordId& other) const { return bytes == other.bytes; }
  bool operator!=(const RecordId& other) const { return bytes != other.bytes; }
  bool operator<(const RecordId& other) const { return bytes < other.bytes; }
#endif
  std::string hex() const;
};

// The fence: 128 random bits that identify one claim. A writer is current if and only if its token
// is the record's.
struct Token {
  std::array<std::uint8_t, 16> bytes{};
#ifdef __cpp_impl_three_way_comparison
  auto operator<=>(const Token&) const = default;
#else
  bool operator==(const Token& other) const { return bytes == other.bytes; }
  bool operator!=(const Token& other) const { return bytes != other.bytes; }
  bool operator<(const Token& other) const { return bytes < other.bytes; }
#endif
  std::string hex() const;
};

// The granted right to execute the operation that `record` stands for. Whoever shows its token
// writes the outcome; once another claim is granted, the token is stale and writes nothing.
struct Claim {
  RecordId record;
  Token token;
  std::uint32_t attempt = 1;
  bool operator==(const Claim& other) const {
    return record == other.record && token == other.token && attempt == other.attempt;
  }
  // Returns the stable key for a call to another service (derive.h).
  std::string derive(std::string_view label) const;
};

}  // namespace semel

template <>
struct std::hash<semel::RecordId> {
  std::size_t operator()(const semel::RecordId& id) const noexcept {
    std::size_t value = 0;  // the id is itself a digest
    std::memcpy(&value, id.bytes.data(), sizeof value);
    return value;
  }
};
