#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/reconcile/ledger.h"

namespace semel::cli {

// The span of time in which differences count, as utc_time() returns it; "": no end. Entries
// outside of it still explain others: an effect of yesterday belongs to its record of today.
struct Window {
  std::string since;
  std::string until;
  bool contains(std::string_view time) const;
};

// A difference between the effects and the records.
struct Finding {
  enum class Kind {
    effect_without_record,
    record_without_effect,
    several_effects,
    effect_of_failed_record,  // it was completed with an error, or released: nothing had happened
  };
  Kind kind = Kind::effect_without_record;
  std::vector<boost::json::object> effects;
  std::vector<boost::json::object> records;
};
std::string_view to_string(Finding::Kind kind);

// How many effects a record stands for.
enum class Expected { one, none, either };
Expected effect_expected_of(const boost::json::object& record);

// Compares the entries of one identity. Adds to `undecided` the records whose outcome is unknown
// and that have an effect.
std::vector<Finding> judge_group(const std::vector<Entry>& group, const Window& window,
                                 std::uint64_t& undecided);

}  // namespace semel::cli
