#include "core/fingerprint/media_type.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/varint.h"

namespace semel::core {
namespace {

constexpr std::string_view kFormType = "application/x-www-form-urlencoded";

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
  return base::trim(piece);
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
  if (equals == std::string_view::npos) return {base::lower_case(text), {}, false};
  return {base::lower_case(base::trim(text.substr(0, equals))), base::trim(text.substr(equals + 1)),
          true};
}

// Sorted by name. The order of parameters with the same name matters, and is kept.
std::multimap<std::string, Parameter> take_parameters(std::string_view rest) {
  std::multimap<std::string, Parameter> parameters;
  while (!rest.empty()) {
    const std::string_view piece = take_piece(rest);
    if (piece.empty()) continue;
    Parameter parameter = parse_parameter(piece);
    parameters.emplace(parameter.name, parameter);
  }
  return parameters;
}

void append_parameter(const Parameter& parameter, std::string_view value, std::string& out) {
  base::append_sized(parameter.name, out);
  out.push_back(parameter.has_value ? '=' : '!');
  base::append_sized(value, out);
}

bool is_read_differently(std::string_view value) {
  return value.contains('\\') || std::ranges::count(value, '"') % 2 != 0;
}

// No canonical form begins like this: an empty first piece, an empty name, and neither "=" nor "!".
std::string as_bytes(std::string_view value) {
  return std::string("\0\0\\", 3).append(value);
}

}  // namespace

bool is_json(std::string_view essence) {
  return essence == "application/json" || essence.ends_with("+json");
}

MediaType parse_media_type(std::string_view content_type) {
  MediaType type{base::lower_case(take_piece(content_type)), {}};
  while (!content_type.empty()) {
    const std::string_view parameter = take_piece(content_type);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos ||
        base::lower_case(parameter.substr(0, equals)) != "charset") {
      continue;
    }
    type.charset = base::lower_case(unquote(parameter.substr(equals + 1)));
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

std::string canonical_codings(std::string_view content_encoding) {
  std::string codings;
  while (!content_encoding.empty()) {
    const std::size_t end = std::min(content_encoding.find(','), content_encoding.size());
    const std::string coding = base::lower_case(base::trim(content_encoding.substr(0, end)));
    if (!coding.empty() && coding != "identity") codings += coding + ",";
    content_encoding.remove_prefix(std::min(end + 1, content_encoding.size()));
  }
  return codings;
}

bool is_encoded(std::string_view content_encoding) {
  return !canonical_codings(content_encoding).empty();
}

std::string canonical_media_type(std::string_view content_type) {
  if (is_read_differently(content_type)) return as_bytes(content_type);
  std::string_view rest = content_type;
  const std::string essence = base::lower_case(take_piece(rest));
  auto parameters = take_parameters(rest);
  if (const auto charset = parameters.find("charset"); charset != parameters.end()) {
    const bool is_default = is_json(essence) || essence == kFormType;
    const bool is_utf8 = base::lower_case(unquote(charset->second.value)) == "utf-8";
    if (is_default && is_utf8 && parameters.count("charset") == 1) parameters.erase(charset);
  }
  const bool has_boundary = essence.starts_with("multipart/") && parameters.count("boundary") == 1;
  if (has_boundary) parameters.erase("boundary");
  std::string out;
  base::append_sized(essence, out);
  for (const auto& [name, parameter] : parameters) {
    const std::string value = unquote(parameter.value);
    append_parameter(parameter, name == "charset" ? base::lower_case(value) : value, out);
  }
  return out;
}

std::string canonical_parameters(std::string_view value) {
  std::string out;
  base::append_sized(base::lower_case(take_piece(value)), out);
  for (const auto& [name, parameter] : take_parameters(value)) {
    append_parameter(parameter, unquote(parameter.value), out);
  }
  return out;
}

std::string strict_parameters(std::string_view value) {
  return is_read_differently(value) ? as_bytes(value) : canonical_parameters(value);
}

}  // namespace semel::core
