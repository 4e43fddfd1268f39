#include "http/fields/prefer.h"

#include "base/text.h"

namespace semel::http {
namespace {

// Cuts off the text before the first `mark` that is not inside a quoted string, and the mark.
std::string_view take_until(std::string_view& rest, char mark) {
  bool quoted = false;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    if (quoted && rest[at] == '\\') {
      ++at;
    } else if (rest[at] == '"') {
      quoted = !quoted;
    } else if (rest[at] == mark && !quoted) {
      break;
    }
  }
  at = std::min(at, rest.size());
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return base::trim(taken);
}

// An empty value means the same as none; with any other value it is a different preference.
bool is_respond_async(std::string_view preference) {
  std::string_view rest = preference;
  std::string_view value = take_until(rest, ';');
  const std::string_view name = take_until(value, '=');
  const std::string_view word = base::trim(value);
  return iequals(name, "respond-async") && (word.empty() || word == "\"\"");
}

}  // namespace

Preferences read_preferences(const std::vector<Field>& fields) {
  Preferences preferences;
  for (const Field& field : fields) {
    if (!iequals(field.name, "Prefer")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::string_view preference = take_until(rest, ',');
      if (preference.empty()) continue;
      if (is_respond_async(preference)) {
        preferences.respond_async = true;
        continue;
      }
      if (!preferences.others.empty()) preferences.others += ", ";
      preferences.others += preference;
    }
  }
  return preferences;
}

}  // namespace semel::http
