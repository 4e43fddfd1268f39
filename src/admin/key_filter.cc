#include "admin/key_filter.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "config/reading/values.h"
#include "execution/operation_name.h"

namespace semel::admin {
namespace {

constexpr std::array kStates = {RecordState::queued,    RecordState::in_progress,
                                RecordState::completed, RecordState::released,
                                RecordState::unknown,   RecordState::tombstone};

std::optional<unsigned> parse_byte(std::string_view hex) {
  unsigned byte = 0;
  if (hex.size() != 2) return std::nullopt;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + 2, byte, 16);
  if (error != std::errc() || end != hex.data() + 2) return std::nullopt;
  return byte;
}

std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const auto byte = parse_byte(text.substr(i + 1, 2));
    if (!byte) return std::nullopt;
    out.push_back(static_cast<char>(*byte));
    i += 2;
  }
  return out;
}

std::optional<std::string> set_duration(std::string_view name, std::string_view value,
                                        std::optional<Duration>& out) {
  const auto parsed = config::reading::parse_duration(value);
  if (!parsed)
    return std::string(name) + ": " + config::reading::quote(value) + " " + parsed.error();
  out = *parsed;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> KeyFilter::set(std::string_view name, std::string_view value) {
  if (name == "tenant") {
    tenant = value;
  } else if (name == "operation") {
    // As the lists show the keys of `scope: tenant`.
    operation = value == "*" ? execution::kEveryOperation : value;
  } else if (name == "key") {
    key = value;
  } else if (name == "state") {
    const auto found =
        std::ranges::find(kStates, value, [](RecordState s) { return to_string(s); });
    if (found == kStates.end()) {
      return "state: " + config::reading::quote(value) +
             " is not a state; use queued, in_progress, completed, released, unknown or tombstone";
    }
    state = *found;
  } else if (name == "reason") {
    reason = value;
  } else if (name == "older") {
    return set_duration(name, value, older);
  } else if (name == "newer") {
    return set_duration(name, value, newer);
  } else {
    return config::reading::quote(name) +
           " is not a filter; use tenant, operation, key, state, reason, older or newer";
  }
  return std::nullopt;
}

void KeyFilter::expect_digests(const core::HashKeys& hash_keys) {
  key_digests.clear();
  if (!key) return;
  key_digests.push_back(core::key_digest(*key, nullptr));
  for (const core::HashKey& with : hash_keys) key_digests.push_back(core::key_digest(*key, &with));
}

bool KeyFilter::matches(const Record& record, Time now) const {
  if (state && record.state != *state) return false;
  if (reason && !record.reason.starts_with(*reason)) return false;
  if (tenant && record.tenant != *tenant) return false;
  if (key && record.key != *key && std::ranges::count(key_digests, record.key) == 0) return false;
  if (operation && record.operation != *operation &&
      !record.operation.starts_with(*operation + "\t")) {
    return false;
  }
  const Duration age = now - record.updated_at;
  return (!older || age >= *older) && (!newer || age <= *newer);
}

std::optional<std::string> for_parameters(std::string_view query, const UseParameter& use) {
  while (!query.empty()) {
    const std::string_view piece = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(piece.size() + 1, query.size()));
    if (piece.empty()) continue;
    const std::size_t equals = std::min(piece.find('='), piece.size());
    const auto name = decode(piece.substr(0, equals));
    const auto value = decode(piece.substr(std::min(equals + 1, piece.size())));
    if (!name || !value) return "The query has a '%' without two hexadecimal digits.";
    if (auto wrong = use(*name, *value)) return wrong;
  }
  return std::nullopt;
}

std::optional<RecordId> parse_hex_id(std::string_view hex) {
  RecordId id;
  if (hex.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const auto byte = parse_byte(hex.substr(2 * i, 2));
    if (!byte) return std::nullopt;
    id.bytes[i] = static_cast<std::uint8_t>(*byte);
  }
  return id;
}

}  // namespace semel::admin
