#include "config/reading/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/text.h"
#include "config/printing/secrets.h"
#include "config/reading/nearest.h"

namespace semel::config::reading {
namespace {

// Headers that frame or route a message, authenticate its sender, or concern one connection.
constexpr std::string_view kUsedHeaders[] = {"authorization",
                                             "connection",
                                             "content-encoding",
                                             "content-length",
                                             "content-type",
                                             "cookie",
                                             "date",
                                             "expect",
                                             "host",
                                             "keep-alive",
                                             "location",
                                             "proxy-authenticate",
                                             "proxy-authorization",
                                             "proxy-connection",
                                             "set-cookie",
                                             "te",
                                             "trailer",
                                             "transfer-encoding",
                                             "upgrade",
                                             "www-authenticate"};

constexpr std::string_view kLater = "not in this version of semel";

std::string_view describe(NodeKind kind) {
  switch (kind) {
    case NodeKind::sequence:
      return "a list";
    case NodeKind::mapping:
      return "a mapping";
    default:
      return "a single value";
  }
}

// Returns whether the value is of the kind, and reports it if not. A broken value has been reported
// already.
bool is_kind(const Field& field, NodeKind kind, std::string_view wanted) {
  const NodeKind found = field.node().kind;
  if (found == kind) return true;
  if (found == NodeKind::null) {
    field.error(fmt::format("has no value; write {}, or remove the key", wanted));
  } else if (found != NodeKind::broken) {
    field.error(fmt::format("must be {}, not {}", wanted, describe(found)));
  }
  return false;
}

template <class T, class Parse, class Format>
void read_range(const Field& field, Parse parse, Format format, T min, T max, T& out) {
  const auto value = field.parsed(parse);
  if (!value) return;
  if (*value < min || *value > max) {
    field.bad_value(
        fmt::format("is out of range; it must be between {} and {}", format(min), format(max)));
    return;
  }
  out = *value;
}

}  // namespace

void Field::error(std::string message) const {
  report_->errors.push_back({report_->file, node_->line, path_, std::move(message)});
}

void Field::warn(std::string message) const {
  report_->warnings.push_back({report_->file, node_->line, path_, std::move(message)});
}

void Field::bad_value(std::string_view complaint) const {
  error(fmt::format("{} {}", quote(printing::without_secrets(node_->written)), complaint));
}

Field Field::at(std::string_view name) const {
  const Node* child = node_->find(name);
  return Field(child != nullptr ? *child : *node_, member_path(path_, name), *report_);
}

void Field::may_have(std::string_view name) const {
  if (report_->known) report_->known(member_path(path_, name));
}

std::optional<std::string> Field::text() const {
  if (!is_kind(*this, NodeKind::scalar, "a single value")) return std::nullopt;
  return node_->text;
}

std::vector<Field> Field::items(std::size_t entries_max) const {
  std::vector<Field> items;
  if (!is_kind(*this, NodeKind::sequence, "a list, like [a, b]")) return items;
  if (node_->children.size() > entries_max) {
    error(fmt::format("has more than {} entries", entries_max));
    return items;
  }
  for (const Node& child : node_->children) {
    items.emplace_back(child, item_path(path_, items.size()), *report_);
  }
  return items;
}

std::vector<Field> Field::item_or_items() const {
  return node_->kind == NodeKind::scalar ? std::vector{*this} : items();
}

void Field::read(bool& out) const {
  read_choice(*this, {{"true", true}, {"false", false}}, out);
}

void Field::read(std::string& out, std::size_t length_min, std::size_t length_max) const {
  std::optional<std::string> value = text();
  if (!value) return;
  if (value->size() < length_min || value->size() > length_max || !is_printable(*value)) {
    bad_value(fmt::format("must be {} to {} printable ASCII characters", length_min, length_max));
    return;
  }
  out = *std::move(value);
}

void Field::read(Duration& out, Duration min, Duration max) const {
  read_range(*this, parse_duration, format_duration, min, max, out);
}

void Field::read_count(std::size_t& out, std::size_t min, std::size_t max) const {
  read_range(*this, parse_number, [](std::size_t number) { return number; }, min, max, out);
}

void Field::read_size(std::size_t& out, std::size_t min, std::size_t max) const {
  read_range(*this, parse_size, format_size, min, max, out);
}

void Field::read_header_name(std::string& out) const {
  std::optional<std::string> value = text();
  if (!value) return;
  if (!is_token(*value)) {
    bad_value("is not a header name");
    return;
  }
  out = *std::move(value);
}

void Field::read_free_header_name(std::string& out, std::string_view example) const {
  const std::optional<std::string> value = text();
  if (!value) return;
  const std::string name = base::lower_case(*value);
  if (std::ranges::count(kUsedHeaders, name) > 0 || name.starts_with("semel-")) {
    bad_value(fmt::format("has another use in HTTP; choose another name, like {}", example));
    return;
  }
  read_header_name(out);
}

void Field::read_header_names(std::vector<std::string>& out) const {
  std::vector<std::string> names;
  for (const Field& item : items()) item.read_header_name(names.emplace_back());
  out = std::move(names);
}

void report_bad_choice(const Field& field, std::string_view value,
                       std::span<const std::string_view> names,
                       std::span<const std::string_view> later_names) {
  const std::string allowed = fmt::format("{}", fmt::join(names, ", "));
  if (std::ranges::count(later_names, value) > 0) {
    field.bad_value(fmt::format("is {}; use {}", kLater, allowed));
  } else {
    field.bad_value(fmt::format("is not allowed here; use {}", allowed));
  }
}

bool is_mapping(const Field& field) {
  return is_kind(field, NodeKind::mapping, "a mapping, like {name: value}");
}

void report_unknown_key(const Field& value, std::span<const std::string_view> known_names) {
  constexpr std::size_t kListedMax = 8;
  if (const auto name = nearest(value.node().name, known_names)) {
    value.error(fmt::format("unknown key; did you mean '{}'?", *name));
  } else if (known_names.size() <= kListedMax) {
    value.error(fmt::format("unknown key; allowed keys: {}", fmt::join(known_names, ", ")));
  } else {
    value.error("unknown key");
  }
}

}  // namespace semel::config::reading
