#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/keyed_hash.h"
#include "semel/driver/record.h"

namespace semel::admin {

// Selects the records that an operator means. A field that is not set matches everything.
struct KeyFilter {
  std::optional<std::string> tenant;
  std::optional<std::string> operation;  // also with any path, if the scope is the path
  std::optional<std::string> key;
  std::vector<std::string> key_digests;  // its digests, where keys are not kept as text
  std::optional<std::string> record;     // the beginning of its id
  std::optional<std::string> resource;   // the id of what it made
  // A member of the request's body that the record keeps: its JSON text, or the text of a string.
  std::optional<DescribedMember> described;
  std::optional<RecordState> state;
  std::optional<std::string> reason;  // its beginning, such as "dead letter"
  std::optional<Duration> older;      // did not change for at least this long
  std::optional<Duration> newer;      // changed within this time

  // Sets the field with this name. Returns what is wrong, or nullopt.
  std::optional<std::string> set(std::string_view name, std::string_view value);
  void expect_digests(const core::HashKeys& hash_keys);
  bool empty() const { return *this == KeyFilter{}; }
  bool matches(const Record& kept, Time now) const;
  bool operator==(const KeyFilter&) const = default;
};

inline constexpr std::size_t kIdDigits = 2 * sizeof(RecordId::bytes);
inline constexpr std::size_t kIdDigitsMin = 4;  // of a search
bool is_id_prefix(std::string_view text);

// Return the digests that stand for a key where keys are not kept as text, and whether the record
// is that of the key.
std::vector<std::string> digests_of(std::string_view key, const core::HashKeys& hash_keys);
bool has_key(const Record& record, std::string_view key, const std::vector<std::string>& digests);

// Parses a whole record id; nullopt: it is not one.
std::optional<RecordId> parse_hex_id(std::string_view hex);

}  // namespace semel::admin
