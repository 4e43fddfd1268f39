#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/fingerprint/keyed_hash.h"
#include "semel/record.h"

namespace semel {

// Which records an operator means. What is not set matches everything.
struct KeyFilter {
  std::optional<std::string> tenant;
  std::optional<std::string> operation;  // also every path of it, where the scope is the path
  std::optional<std::string> key;
  std::vector<std::string> key_digests;  // what stands for it where keys are not kept as text
  std::optional<RecordState> state;
  std::optional<std::string> reason;  // how it begins: "dead letter"
  std::optional<Duration> older;      // did not change for at least this long
  std::optional<Duration> newer;      // changed within this time

  // Sets one of them by its name. Returns what is wrong, or nullopt.
  std::optional<std::string> set(std::string_view name, std::string_view value);
  void expect_digests(const HashKeys& hash_keys);
  bool empty() const { return *this == KeyFilter{}; }
  bool matches(const Record& record, Time now) const;
  bool operator==(const KeyFilter&) const = default;
};

// Calls `use` for every name=value of a query string, decoded; stops at what it complains about.
// Returns that, or nullopt.
using UseParameter =
    std::function<std::optional<std::string>(std::string_view name, std::string_view value)>;
std::optional<std::string> for_parameters(std::string_view query, const UseParameter& use);

// A whole record id, or nullopt.
std::optional<RecordId> parse_hex_id(std::string_view hex);

}  // namespace semel
