#include "core/media_type.h"

#include <algorithm>
#include <map>

#include "core/text.h"
#include "core/varint.h"

namespace semel {
namespace {

// Takes the text up to the next ";" that is not inside a quoted string.
std::string_view take_piece(std::string_view& rest) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < rest.size(); ++end) {
    if (rest[end] == '"') quoted = !quoted;
    if (rest[end] == '\\' && quoted) ++end;
    if (end < rest.size() && rest[end] == ';' && !quoted) break;
  }
  end = std::min(end, rest.size());
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trim(piece);
}

std::string unquote(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::string(value);
  std::string plain;
  for (std::size_t i = 1; i + 1 < value.size(); ++i) {
    if (value[i] == '\\' && i + 2 < value.size()) ++i;
    plain.push_back(value[i]);
  }
  return plain;
}

struct Parameter {
  std::string name;  // lower case
  std::string_view value;
  bool has_value = false;
};

Parameter parse_parameter(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {lower_case(text), {}, false};
  return {lower_case(trim(text.substr(0, equals))), trim(text.substr(equals + 1)), true};
}

}  // namespace

MediaType parse_media_type(std::string_view content_type) {
  MediaType type{lower_case(take_piece(content_type)), {}};
  while (!content_type.empty()) {
    const std::string_view parameter = take_piece(content_type);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || lower_case(parameter.substr(0, equals)) != "charset") {
      continue;
    }
    type.charset = lower_case(unquote(parameter.substr(equals + 1)));
    if (type.charset == "utf-8") type.charset.clear();
    break;
  }
  return type;
}

std::optional<std::string> media_type_parameter(std::string_view content_type,
                                                std::string_view name) {
  take_piece(content_type);
  while (!content_type.empty()) {
    const Parameter parameter = parse_parameter(take_piece(content_type));
    if (parameter.has_value && parameter.name == name) return unquote(parameter.value);
  }
  return std::nullopt;
}

bool is_encoded(std::string_view content_encoding) {
  while (!content_encoding.empty()) {
    const std::size_t end = std::min(content_encoding.find(','), content_encoding.size());
    const std::string coding = lower_case(trim(content_encoding.substr(0, end)));
    if (!coding.empty() && coding != "identity") return true;
    content_encoding.remove_prefix(std::min(end + 1, content_encoding.size()));
  }
  return false;
}

std::string canonical_parameters(std::string_view value) {
  std::string out;
  append_sized(lower_case(take_piece(value)), out);
  // Where a name stands twice, the order says which is meant; this keeps it.
  std::multimap<std::string, Parameter> parameters;
  while (!value.empty()) {
    const std::string_view piece = take_piece(value);
    if (piece.empty()) continue;
    Parameter parameter = parse_parameter(piece);
    parameters.emplace(parameter.name, parameter);
  }
  for (const auto& [name, parameter] : parameters) {
    append_sized(name, out);
    out.push_back(parameter.has_value ? '=' : '!');
    append_sized(unquote(parameter.value), out);
  }
  return out;
}

}  // namespace semel
