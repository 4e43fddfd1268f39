#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/reading/reader.h"
#include "config/relay.h"

// The keys of the relay.
namespace semel::config::reading {

void read_relay(const Field& field, RelayConfig& out);

// Longer texts cannot be the destination of a message.
inline constexpr std::size_t kDestinationNameMax = 1024;

// Returns whether a delivery may be given a header of this name: none that the relay sets itself,
// and none that concerns the connection.
bool may_be_given(std::string_view header_name);

// Returns a destination that has only a URL, and defaults for everything else. The error is the end
// of a sentence that begins with the URL.
std::expected<RelayDestination, std::string> destination_of(std::string_view name,
                                                            std::string_view url);

}  // namespace semel::config::reading
