#include "check/witness.h"

#include <boost/json/parse.hpp>
#include <map>

#include "base/text.h"
#include "core/json_text.h"

namespace semel::check {
namespace {

namespace json = boost::json;
using Places = std::map<std::string, std::string>;

constexpr std::size_t kPlacesMax = 500;
constexpr std::string_view kWholeBody = "body";

void collect_leaves(const json::value& value, const std::string& pointer, Places& into) {
  if (into.size() >= kPlacesMax) return;
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      collect_leaves(member.value(), pointer + "/" + std::string(member.key()), into);
    }
  } else if (const json::array* array = value.if_array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      collect_leaves((*array)[i], pointer + "/" + std::to_string(i), into);
    }
  } else if (const json::string* text = value.if_string()) {
    into.emplace(pointer, std::string(*text));
  } else {
    into.emplace(pointer, core::json_text(value));
  }
}

Places places_of(const Answer& answer) {
  Places found;
  if (answer.has("Location")) found.emplace("Location", answer.get("Location"));
  boost::system::error_code error;
  const json::value value = json::parse(answer.body, error);
  if (!error && (value.is_object() || value.is_array())) {
    collect_leaves(value, "", found);
  } else if (!answer.body.empty()) {
    found.emplace(kWholeBody, answer.body);
  }
  return found;
}

bool names_an_identifier(std::string_view place) {
  if (place == "Location" || place == kWholeBody) return true;
  const std::string name = base::lower_case(place.substr(place.rfind('/') + 1));
  for (const std::string_view other : {"request", "trace", "correlation", "span"}) {
    if (name.contains(other)) return false;
  }
  return name == "id" || name.ends_with("id") || name.ends_with("number") ||
         name.ends_with("reference");
}

}  // namespace

Witness::Witness(const Answer& first, std::string_view key, const Answer& second,
                 const Answer& retry) {
  const Places one = places_of(first);
  const Places other = places_of(second);
  const Places again = places_of(retry);
  std::vector<std::string> presumed;
  for (const auto& [place, value] : one) {
    const auto differs = other.find(place);
    const auto stays = again.find(place);
    if (differs == other.end() || differs->second == value || value.contains(key)) continue;
    if (stays == again.end()) continue;
    if (stays->second == value) {
      places_.push_back(place);
    } else if (names_an_identifier(place)) {
      presumed.push_back(place);
    }
  }
  if (places_.empty()) places_ = std::move(presumed);
}

std::vector<std::string> Witness::values(const Answer& answer) const {
  const Places found = places_of(answer);
  std::vector<std::string> out;
  for (const std::string& place : places_) {
    if (const auto one = found.find(place); one != found.end()) out.push_back(one->second);
  }
  return out;
}

std::string Witness::of(const Answer& answer) const {
  std::string out;
  for (const std::string& value : values(answer)) out += (out.empty() ? "" : ", ") + value;
  return out;
}

bool Witness::same(const Answer& a, const Answer& b) const {
  const Places one = places_of(a);
  const Places other = places_of(b);
  bool common = false;
  for (const std::string& place : places_) {
    const auto in_one = one.find(place);
    const auto in_other = other.find(place);
    if (in_one == one.end() || in_other == other.end()) continue;
    if (in_one->second != in_other->second) return false;
    common = true;
  }
  return common;
}

}  // namespace semel::check
