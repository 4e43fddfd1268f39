#include "admin/key_filter.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>

#include "base/hex.h"
#include "config/reading/values.h"
#include "execution/operation_name.h"

namespace semel::admin {
namespace {

constexpr std::array kStates = {RecordState::queued,    RecordState::in_progress,
                                RecordState::completed, RecordState::released,
                                RecordState::unknown,   RecordState::tombstone};

std::optional<std::string> set_duration(std::string_view name, std::string_view value,
                                        std::optional<Duration>& out) {
  const auto parsed = config::reading::parse_duration(value);
  if (!parsed)
    return std::string(name) + ": " + config::reading::quote(value) + " " + parsed.error();
  out = *parsed;
  return std::nullopt;
}

bool describes(const Record& kept, const DescribedMember& wanted) {
  const std::string as_string =
      boost::json::serialize(boost::json::string_view(wanted.value.data(), wanted.value.size()));
  return std::ranges::any_of(kept.description.members, [&](const DescribedMember& member) {
    return member.pointer == wanted.pointer &&
           (member.value == wanted.value || member.value == as_string);
  });
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
  } else if (name == "record") {
    if (!is_id_prefix(value)) {
      return "record: must be the first 4 to 64 lower-case hexadecimal digits of an id";
    }
    record = value;
  } else if (name == "resource") {
    resource = value;
  } else if (name == "described") {
    const std::size_t equals = value.find('=');
    if (!value.starts_with('/') || equals == std::string_view::npos) {
      return "described: must be a pointer and a value, like /amount=4200";
    }
    described = DescribedMember{std::string(value.substr(0, equals)),
                                std::string(value.substr(equals + 1))};
  } else if (name == "reason") {
    reason = value;
  } else if (name == "older") {
    return set_duration(name, value, older);
  } else if (name == "newer") {
    return set_duration(name, value, newer);
  } else {
    return config::reading::quote(name) +
           " is not a filter; use tenant, operation, key, record, resource, described, state, "
           "reason, older or newer";
  }
  return std::nullopt;
}

std::vector<std::string> digests_of(std::string_view key, const core::HashKeys& hash_keys) {
  std::vector<std::string> digests{core::key_digest(key, nullptr)};
  for (const core::HashKey& with : hash_keys) digests.push_back(core::key_digest(key, &with));
  return digests;
}

bool has_key(const Record& record, std::string_view key, const std::vector<std::string>& digests) {
  return record.key == key || std::ranges::find(digests, record.key) != digests.end();
}

void KeyFilter::expect_digests(const core::HashKeys& hash_keys) {
  key_digests.clear();
  if (key) key_digests = digests_of(*key, hash_keys);
}

bool KeyFilter::matches(const Record& kept, Time now) const {
  if (state && kept.state != *state) return false;
  if (reason && !kept.reason.starts_with(*reason)) return false;
  if (tenant && kept.tenant != *tenant) return false;
  if (key && !has_key(kept, *key, key_digests)) return false;
  if (record && !kept.id.hex().starts_with(*record)) return false;
  if (resource && kept.resource_id != *resource) return false;
  if (described && !describes(kept, *described)) return false;
  if (operation && kept.operation != *operation && !kept.operation.starts_with(*operation + "\t")) {
    return false;
  }
  const Duration age = now - kept.updated_at;
  return (!older || age >= *older) && (!newer || age <= *newer);
}

bool is_id_prefix(std::string_view text) {
  return text.size() >= kIdDigitsMin && text.size() <= kIdDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<RecordId> parse_hex_id(std::string_view hex) {
  RecordId id;
  const auto bytes = base::decode_hex(hex);
  if (!bytes || bytes->size() != id.bytes.size()) return std::nullopt;
  std::ranges::copy(*bytes, id.bytes.begin());
  return id;
}

}  // namespace semel::admin
