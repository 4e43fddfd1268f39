#include "core/fingerprint/form.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "base/varint.h"

namespace semel::core {
namespace {

struct Field {
  std::string_view name;
  std::string_view root = {};
  std::size_t position = 0;
  std::optional<std::string_view> value;
};

std::pair<std::string_view, std::size_t> by_name(const Field& field) {
  return {field.name, field.position};
}

// Appends the decoded text to `decoded`, which must have room for it, and returns what was
// appended.
std::optional<std::string_view> decode(std::string_view encoded, std::string& decoded) {
  const std::size_t begin = decoded.size();
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      decoded.push_back(encoded[i] == '+' ? ' ' : encoded[i]);
      continue;
    }
    if (encoded.size() - i < 3) return {};
    const int high = base::hex_value(encoded[i + 1]);
    const int low = base::hex_value(encoded[i + 2]);
    if (high < 0 || low < 0) return {};
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return std::string_view(decoded).substr(begin);
}

// Accepts `a` and `a[b][]`. Executors disagree about other uses of brackets.
bool is_well_formed(std::string_view name) {
  if (name.contains('\0')) return false;
  const std::size_t stem = std::min(name.find_first_of("[]"), name.size());
  if (stem == 0) return name.empty();
  name.remove_prefix(stem);
  while (!name.empty()) {
    const std::size_t end = name.find_first_of("[]", 1);
    if (name[0] != '[' || end == std::string_view::npos || name[end] != ']') return false;
    name.remove_prefix(end + 1);
  }
  return true;
}

std::string_view stem_of(std::string_view name) {
  return name.substr(0, name.find('['));
}

// Returns a root that all names share which some executor may put into one variable. Appends it to
// `roots`, which must have room for it.
std::string_view root_of(std::string_view name, std::string& roots) {
  std::string_view stem = stem_of(name);
  stem.remove_prefix(std::min(stem.find_first_not_of(' '), stem.size()));
  const std::size_t begin = roots.size();
  for (const char c : stem) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    roots.push_back(c == '.' || c == ' ' ? '_' : is_upper ? static_cast<char>(c + 32) : c);
  }
  return std::string_view(roots).substr(begin);
}

// Returns true if the name identifies one place. Some executors read a blank bracket as an empty
// one.
bool is_plain(std::string_view name) {
  return !name.contains("[]") && !name.contains("[ ");
}

using Fields = std::span<Field>;

// Sorts the group unless its order may matter. Returns true if it is sorted.
bool sort_group(Fields group) {
  if (group.size() == 1) return true;
  const std::string_view stem = stem_of(group.front().name);
  for (const Field& field : group) {
    if (!is_plain(field.name) || stem_of(field.name) != stem) return false;
  }
  std::ranges::sort(group, {}, by_name);
  for (std::size_t i = 1; i < group.size(); ++i) {
    const std::string_view outer = group[i - 1].name;
    if (group[i].name == outer || !group[i].name.starts_with(outer)) continue;
    std::ranges::sort(group, {}, &Field::position);
    return false;
  }
  return true;
}

void append_fields(Fields fields, std::string& out) {
  for (const Field& field : fields) {
    out.push_back('k');
    base::append_sized(field.name, out);
    out.push_back(field.value ? '=' : '!');
    if (field.value) base::append_sized(*field.value, out);
  }
}

void append_groups(std::vector<Field>& fields, std::string& out) {
  std::size_t name_bytes = 0;
  for (const Field& field : fields) name_bytes += field.name.size();
  std::string roots;
  roots.reserve(name_bytes);
  for (Field& field : fields) field.root = root_of(field.name, roots);
  std::ranges::sort(fields, [](const Field& a, const Field& b) {
    const int order = a.root.compare(b.root);
    return order < 0 || (order == 0 && a.position < b.position);
  });
  for (auto begin = fields.begin(); begin != fields.end();) {
    const auto end = std::ranges::find_if(
        begin, fields.end(), [&](const Field& field) { return field.root != begin->root; });
    const Fields group(begin, end);
    out.push_back(sort_group(group) ? 's' : 'o');
    base::append_varint(group.size(), out);
    append_fields(group, out);
    begin = end;
  }
}

}  // namespace

std::optional<std::string> canonical_form(std::string_view body, std::uint8_t recipe_version) {
  const bool is_first = recipe_version < 2;
  if (!is_first && body.contains(';')) return {};
  std::string decoded;
  decoded.reserve(body.size());  // never longer than the body, so views into it stay valid
  std::vector<Field> fields;
  while (!body.empty()) {
    const std::string_view piece = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(piece.size() + 1, body.size()));
    if (piece.empty()) continue;
    const std::size_t equals = piece.find('=');
    const std::optional<std::string_view> name = decode(piece.substr(0, equals), decoded);
    if (!name || (!is_first && !is_well_formed(*name))) return {};
    Field field{*name, {}, fields.size(), {}};
    if (equals != std::string_view::npos) {
      field.value = decode(piece.substr(equals + 1), decoded);
      if (!field.value) return {};
    }
    fields.push_back(field);
  }
  std::string out;
  out.reserve(decoded.size() + 8 * fields.size());
  if (is_first) {
    std::ranges::sort(fields, {}, by_name);
    append_fields(fields, out);
  } else {
    append_groups(fields, out);
  }
  return out;
}

}  // namespace semel::core
