#include "core/form.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/hex.h"
#include "core/varint.h"

namespace semel {
namespace {

struct Field {
  std::string_view name;
  std::size_t position = 0;
  std::optional<std::string_view> value;
};

// Appends to `decoded`, which must have room for it, and returns what was appended.
std::optional<std::string_view> decode(std::string_view encoded, std::string& decoded) {
  const std::size_t begin = decoded.size();
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      decoded.push_back(encoded[i] == '+' ? ' ' : encoded[i]);
      continue;
    }
    if (encoded.size() - i < 3) return {};
    const int high = hex_value(encoded[i + 1]);
    const int low = hex_value(encoded[i + 2]);
    if (high < 0 || low < 0) return {};
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return std::string_view(decoded).substr(begin);
}

}  // namespace

std::optional<std::string> canonical_form(std::string_view body) {
  std::string decoded;
  decoded.reserve(body.size());  // never longer than what it decodes, so views into it stay valid
  std::vector<Field> fields;
  while (!body.empty()) {
    const std::string_view piece = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(piece.size() + 1, body.size()));
    if (piece.empty()) continue;
    const std::size_t equals = piece.find('=');
    const std::optional<std::string_view> name = decode(piece.substr(0, equals), decoded);
    if (!name) return {};
    Field field{*name, fields.size(), {}};
    if (equals != std::string_view::npos) {
      field.value = decode(piece.substr(equals + 1), decoded);
      if (!field.value) return {};
    }
    fields.push_back(field);
  }
  std::ranges::sort(fields, {},
                    [](const Field& field) { return std::pair(field.name, field.position); });

  std::string out;
  out.reserve(decoded.size() + 8 * fields.size());
  for (const Field& field : fields) {
    out.push_back('k');
    append_sized(field.name, out);
    out.push_back(field.value ? '=' : '!');
    if (field.value) append_sized(*field.value, out);
  }
  return out;
}

}  // namespace semel
