#include "admin/parameters.h"

#include <algorithm>
#include <charconv>

#include "base/percent.h"
#include "config/reading/values.h"

namespace semel::admin {
namespace {

std::optional<std::string> decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return base::percent_decoded(spaced);
}

}  // namespace

std::optional<std::string> for_parameters(std::string_view query, const UseParameter& use) {
  while (!query.empty()) {
    const std::string_view piece = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(piece.size() + 1, query.size()));
    if (piece.empty()) continue;
    const std::size_t equals = std::min(piece.find('='), piece.size());
    const auto name = decoded(piece.substr(0, equals));
    const auto value = decoded(piece.substr(std::min(equals + 1, piece.size())));
    if (!name || !value) return "The query has a '%' without two hexadecimal digits.";
    if (auto wrong = use(*name, *value)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> no_parameters(std::string_view query) {
  return for_parameters(query, [](std::string_view name, std::string_view) {
    return std::optional(config::reading::quote(name) +
                         " is not a parameter of this path, which takes none");
  });
}

std::string unknown_parameter(std::string_view name, std::string_view known) {
  return config::reading::quote(name) + " is not a parameter of this path; use " +
         std::string(known);
}

std::optional<std::string> read_count(std::string_view name, std::string_view value,
                                      std::size_t most, std::size_t& out) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error == std::errc() && end == value.data() + value.size() && out >= 1 && out <= most) {
    return std::nullopt;
  }
  return std::string(name) + ": must be a number from 1 to " + std::to_string(most);
}

}  // namespace semel::admin
