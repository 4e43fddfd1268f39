#include "config/probe_url.h"

#include <functional>

#include "base/percent.h"

namespace semel::config {
namespace {

// Calls `text` for the pieces between braces and `name` for those inside, in order. Returns false
// if a brace does not match.
bool walk(std::string_view target, const std::function<void(std::string_view)>& text,
          const std::function<void(std::string_view)>& name) {
  while (!target.empty()) {
    const std::size_t open = target.find_first_of("{}");
    text(target.substr(0, open));
    if (open == std::string_view::npos) return true;
    const std::size_t close = target.find_first_of("{}", open + 1);
    if (target[open] != '{' || close == std::string_view::npos || target[close] != '}')
      return false;
    name(target.substr(open + 1, close - open - 1));
    target.remove_prefix(close + 1);
  }
  return true;
}

const std::string_view* value_of(std::string_view name, const ProbeValues& values) {
  if (name == "key") return &values.key;
  if (name == "record") return &values.record;
  if (name == "attempt") return &values.attempt;
  if (name == "token") return &values.token;
  return nullptr;
}

}  // namespace

std::string probe_target_error(std::string_view target) {
  std::string unknown;
  bool names_one = false;
  const bool whole = walk(
      target, [](std::string_view) {},
      [&](std::string_view name) {
        if (!value_of(name, {})) unknown = name;
        names_one = names_one || name == "key" || name == "record";
      });
  constexpr std::string_view kNames = "{key}, {record}, {attempt} and {token}";
  if (!whole) return "has an unmatched brace; the placeholders are " + std::string(kNames);
  if (!unknown.empty()) {
    return "has an unknown placeholder {" + unknown + "}; use " + std::string(kNames);
  }
  if (!names_one) return "must identify the operation: put {key} or {record} into it";
  return "";
}

std::string fill_probe_target(std::string_view target, const ProbeValues& values) {
  std::string out;
  walk(
      target, [&](std::string_view text) { out += text; },
      [&](std::string_view name) { out += base::percent_encoded(*value_of(name, values)); });
  return out;
}

}  // namespace semel::config
