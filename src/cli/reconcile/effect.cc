#include "cli/reconcile/effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/text.h"
#include "cli/reconcile/utc_time.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kRecordDigits = 64;

std::string* field_of(Effect& effect, std::string_view name) {
  if (name == "record") return &effect.record;
  if (name == "key") return &effect.key;
  if (name == "tenant") return &effect.tenant;
  if (name == "operation") return &effect.operation;
  if (name == "resource_id" || name == "resource" || name == "id") return &effect.resource;
  if (name == "time") return &effect.time;
  return nullptr;
}

// Splits a line of CSV (RFC 4180). nullopt: a quote is not closed, or is inside a field.
std::optional<std::vector<std::string>> split_csv(std::string_view line) {
  std::vector<std::string> fields;
  for (;;) {
    std::string field;
    if (line.starts_with('"')) {
      line.remove_prefix(1);
      for (;;) {
        const std::size_t quote = line.find('"');
        if (quote == std::string_view::npos) return std::nullopt;
        field += line.substr(0, quote);
        line.remove_prefix(quote + 1);
        if (!line.starts_with('"')) break;
        field += '"';
        line.remove_prefix(1);
      }
      if (!line.empty() && !line.starts_with(',')) return std::nullopt;
    } else {
      const std::size_t comma = std::min(line.find(','), line.size());
      field = line.substr(0, comma);
      line.remove_prefix(comma);
    }
    fields.push_back(std::move(field));
    if (line.empty()) return fields;
    line.remove_prefix(1);
  }
}

std::vector<std::string> names_in(Effect& effect) {
  std::vector<std::string> out;
  for (const char* name : {"record", "key", "tenant", "operation"}) {
    if (!field_of(effect, name)->empty()) out.emplace_back(name);
  }
  return out;
}

}  // namespace

bool EffectParser::has(std::string_view name) const {
  return std::ranges::count(named_, name) > 0;
}

std::expected<std::optional<Effect>, std::string> EffectParser::take(std::string_view line) {
  ++lines_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (lines_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  if (line.find_first_not_of(" \t") == std::string_view::npos) return std::nullopt;
  if (format_ == Format::unset) {
    const bool is_json = line[line.find_first_not_of(" \t")] == '{';
    format_ = is_json ? Format::json : Format::csv;
    if (!is_json) return read_header(line);
  }
  auto effect = format_ == Format::json ? read_json(line) : read_csv(line);
  if (!effect) return std::unexpected(std::move(effect.error()));
  return checked(*std::move(effect));
}

std::expected<std::optional<Effect>, std::string> EffectParser::read_header(std::string_view line) {
  auto columns = split_csv(line);
  if (!columns) {
    return std::unexpected("line 1: is neither JSON nor the header of a CSV file");
  }
  for (std::string& column : *columns) column = base::lower_case(column);
  columns_ = *std::move(columns);
  if (std::ranges::count(columns_, "key") + std::ranges::count(columns_, "record") == 0) {
    return std::unexpected(
        "line 1: the header of a CSV file must name a column key or record; each line of JSON "
        "must be an object");
  }
  return std::nullopt;
}

std::expected<Effect, std::string> EffectParser::read_json(std::string_view line) {
  boost::system::error_code not_json;
  const json::value value = json::parse(line, not_json);
  if (not_json || !value.is_object()) {
    return std::unexpected(fmt::format("line {}: is not a JSON object", lines_));
  }
  Effect effect;
  for (const auto& member : value.get_object()) {
    std::string* field = field_of(effect, std::string_view(member.key()));
    if (!field || member.value().is_null()) continue;
    if (member.value().is_structured()) {
      return std::unexpected(
          fmt::format("line {}: '{}' must be a text", lines_, std::string_view(member.key())));
    }
    *field = member.value().is_string() ? json::value_to<std::string>(member.value())
                                        : json::serialize(member.value());
  }
  return effect;
}

std::expected<Effect, std::string> EffectParser::read_csv(std::string_view line) {
  auto fields = split_csv(line);
  if (!fields) {
    return std::unexpected(
        fmt::format("line {}: has a quote that is not closed; a field must not contain the end of "
                    "a line",
                    lines_));
  }
  if (fields->size() != columns_.size()) {
    return std::unexpected(fmt::format("line {}: has {} fields, and the header names {}", lines_,
                                       fields->size(), columns_.size()));
  }
  Effect effect;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (std::string* field = field_of(effect, columns_[i])) *field = std::move((*fields)[i]);
  }
  return effect;
}

// All effects must be found in the same way, or some would never meet their records.
std::expected<std::optional<Effect>, std::string> EffectParser::checked(Effect effect) {
  effect.line = lines_;
  effect.record = base::lower_case(effect.record);
  std::vector<std::string> named = names_in(effect);
  if (named_.empty()) named_ = named;
  if (effect.record.empty() && effect.key.empty()) {
    return std::unexpected(fmt::format("line {}: names neither a key nor a record", lines_));
  }
  if (has("record") != !effect.record.empty()) {
    return std::unexpected(fmt::format(
        "line {}: names {} record, unlike the lines before; name it in all lines or in none",
        lines_, effect.record.empty() ? "no" : "a"));
  }
  if (!effect.record.empty() && effect.record.size() != kRecordDigits) {
    return std::unexpected(
        fmt::format("line {}: a record's id has {} hexadecimal digits", lines_, kRecordDigits));
  }
  if (!effect.time.empty()) {
    auto time = utc_time(effect.time);
    if (!time) {
      return std::unexpected(fmt::format(
          "line {}: the time is not one of RFC 3339, like 2026-01-31T09:30:00+01:00", lines_));
    }
    effect.time = *std::move(time);
  }
  return effect;
}

}  // namespace semel::cli
