#include "check/payload.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <vector>

#include "base/random.h"
#include "core/json_text.h"

namespace semel::check {
namespace {

namespace json = boost::json;

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  for (;;) {
    const std::size_t at = text.find(what);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += by;
    text.remove_prefix(at + what.size());
  }
}

std::string new_uuid() {
  const std::uint64_t high = (base::random_number() & ~0xF000ULL) | 0x4000ULL;  // version 4
  const std::uint64_t low = (base::random_number() & ~(3ULL << 62)) | (2ULL << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFFF, low >> 48, low & 0xFFFF'FFFF'FFFFULL);
}

// Finds the first number, or else the first text, depth first.
json::value* find_leaf(json::value& value, bool number) {
  if (number ? value.is_int64() : value.is_string()) return &value;
  if (json::object* object = value.if_object()) {
    for (auto& member : *object) {
      if (json::value* found = find_leaf(member.value(), number)) return found;
    }
  }
  if (json::array* array = value.if_array()) {
    for (json::value& element : *array) {
      if (json::value* found = find_leaf(element, number)) return found;
    }
  }
  return nullptr;
}

}  // namespace

std::string Payloads::render(std::string_view text) {
  std::string out(text);
  if (out.contains("{{n}}")) out = replaced(out, "{{n}}", std::to_string(++last_));
  if (out.contains("{{uuid}}")) out = replaced(out, "{{uuid}}", new_uuid());
  return out;
}

std::string with_key(std::string_view body, std::string_view key) {
  return replaced(body, "{{key}}", key);
}

bool has_variables(std::string_view text) {
  return text.contains("{{n}}") || text.contains("{{uuid}}");
}

std::optional<std::string> varied_json(std::string_view body, int nth) {
  boost::system::error_code error;
  json::value value = json::parse(body, error);
  if (error) return std::nullopt;
  if (json::value* number = find_leaf(value, true)) {
    *number = number->as_int64() + nth;
  } else if (json::value* text = find_leaf(value, false)) {
    text->as_string() += std::string(static_cast<std::size_t>(nth), 'x');
  } else {
    return std::nullopt;
  }
  return core::json_text(value);
}

std::optional<std::string> reordered_json(std::string_view body) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  if (error || !value.is_object() || value.as_object().size() < 2) return std::nullopt;
  std::vector<std::string> members;
  for (const auto& member : value.as_object()) {
    members.push_back(json::serialize(json::string(member.key())) + ":" +
                      core::json_text(member.value()));
  }
  std::string out = "{";
  for (auto one = members.rbegin(); one != members.rend(); ++one) {
    if (out.size() > 1) out += ',';
    out += *one;
  }
  return out + '}';
}

}  // namespace semel::check
