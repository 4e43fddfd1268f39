#pragma once

#include <optional>
#include <string_view>

namespace semel::service {

// Returns the text of a member of a JSON object, as it was written: a parser would round its
// numbers, and two payloads that differ would have one fingerprint. `text` must be a valid JSON
// object. nullopt: there is no such member.
std::optional<std::string_view> raw_member(std::string_view text, std::string_view name);

// Returns whether a valid JSON object has two members of one name. Two readers of such a text may
// see two different requests.
bool has_repeated_member(std::string_view text);

}  // namespace semel::service
