#include "cli/reconcile/judge.h"

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <iterator>

#include "cli/admin/command.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr std::int64_t kErrorStatusMin = 400;

json::object object_of(const Entry& entry) {
  return json::parse(entry.text).as_object();
}

// Finds records that should have an effect and have none. If some of them have one, nobody can tell
// which: that is one finding, with all of them.
void find_missing(const std::vector<json::object>& effects,
                  const std::vector<json::object>& records,
                  const std::function<bool(const json::object&)>& is_judged,
                  std::vector<Finding>& found) {
  std::vector<json::object> expected;
  std::ranges::copy_if(records, std::back_inserter(expected), [&](const json::object& record) {
    return effect_expected_of(record) == Expected::one && is_judged(record);
  });
  if (effects.size() >= expected.size()) return;
  if (!effects.empty()) {
    found.push_back({Finding::Kind::record_without_effect, effects, std::move(expected)});
    return;
  }
  for (json::object& record : expected) {
    found.push_back({Finding::Kind::record_without_effect, {}, {std::move(record)}});
  }
}

}  // namespace

std::string_view to_string(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::effect_without_record:
      return "effect_without_record";
    case Finding::Kind::record_without_effect:
      return "record_without_effect";
    case Finding::Kind::several_effects:
      return "several_effects";
    case Finding::Kind::effect_of_failed_record:
      return "effect_of_failed_record";
  }
  return "";
}

bool Window::contains(std::string_view time) const {
  if (time.empty()) return true;
  return (since.empty() || time >= since) && (until.empty() || time < until);
}

Expected effect_expected_of(const json::object& record) {
  const std::string state = text_of(record, "state");
  if (state == "released" || state == "queued") return Expected::none;
  if (state != "completed") return Expected::either;
  const json::value* status = record.if_contains("status");
  const bool failed = status && status->is_int64() && status->get_int64() >= kErrorStatusMin;
  return failed ? Expected::none : Expected::one;
}

std::vector<Finding> judge_group(const std::vector<Entry>& group, const Window& window,
                                 std::uint64_t& undecided) {
  std::vector<json::object> effects;
  std::vector<json::object> records;
  for (const Entry& entry : group) {
    (entry.side == Entry::Side::effect ? effects : records).push_back(object_of(entry));
  }
  const auto is_judged = [&](const json::object& one) {
    return window.contains(text_of(one, one.contains("created_at") ? "created_at" : "time"));
  };
  const auto any_judged = [&](const auto& many) { return std::ranges::any_of(many, is_judged); };
  const auto count_of = [&](Expected expected) {
    return static_cast<std::size_t>(std::ranges::count_if(records, [&](const json::object& record) {
      return effect_expected_of(record) == expected;
    }));
  };
  const std::size_t with_effect = count_of(Expected::one);
  const std::size_t may_have_effect = count_of(Expected::either);
  std::vector<Finding> found;
  if (records.empty()) {
    if (any_judged(effects)) found.push_back({Finding::Kind::effect_without_record, effects, {}});
  } else if (!effects.empty() && with_effect + may_have_effect == 0) {
    if (any_judged(effects)) {
      found.push_back({Finding::Kind::effect_of_failed_record, effects, records});
    }
  } else if (effects.size() > with_effect) {
    undecided += std::min(may_have_effect, effects.size() - with_effect);
  } else {
    find_missing(effects, records, is_judged, found);
  }
  // Without a record, too: each is one finding, and this is another.
  const std::size_t allowed = std::max<std::size_t>(1, with_effect + may_have_effect);
  if (effects.size() > allowed && any_judged(effects)) {
    found.push_back({Finding::Kind::several_effects, std::move(effects), std::move(records)});
  }
  return found;
}

}  // namespace semel::cli
