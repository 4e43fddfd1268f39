#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/fingerprint/keyed_hash.h"
#include "semel/driver/record.h"

namespace semel::admin {

// Selects the records that an operator means. A field that is not set matches everything.
struct KeyFilter {
  std::optional<std::string> tenant;
  std::optional<std::string> operation;  // also with any path, if the scope is the path
  std::optional<std::string> key;
  std::vector<std::string> key_digests;  // its digests, where keys are not kept as text
  std::optional<RecordState> state;
  std::optional<std::string> reason;  // its beginning, such as "dead letter"
  std::optional<Duration> older;      // did not change for at least this long
  std::optional<Duration> newer;      // changed within this time

  // Sets the field with this name. Returns what is wrong, or nullopt.
  std::optional<std::string> set(std::string_view name, std::string_view value);
  void expect_digests(const core::HashKeys& hash_keys);
  bool empty() const { return *this == KeyFilter{}; }
  bool matches(const Record& record, Time now) const;
  bool operator==(const KeyFilter&) const = default;
};

// Calls `use` for every name=value of a query string, decoded, until `use` complains. Returns the
// complaint, or nullopt.
using UseParameter =
    std::function<std::optional<std::string>(std::string_view name, std::string_view value)>;
std::optional<std::string> for_parameters(std::string_view query, const UseParameter& use);

// Parses a whole record id; nullopt: it is not one.
std::optional<RecordId> parse_hex_id(std::string_view hex);

}  // namespace semel::admin
