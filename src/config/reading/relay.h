#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/reading/reader.h"
#include "config/relay.h"

// The keys of the relay.
namespace semel::config_file {

void read_relay(const Field& field, RelayConfig& out);

// Longer texts cannot be the destination of a message.
inline constexpr std::size_t kDestinationNameMax = 1024;

// Whether a delivery may be given a header of this name: not what the relay says itself, and not
// what concerns the connection.
bool may_be_given(std::string_view header_name);

// A destination that is nothing but its URL, with everything else by default. The error is the end
// of a sentence that begins with the URL.
std::expected<RelayDestination, std::string> destination_of(std::string_view name,
                                                            std::string_view url);

}  // namespace semel::config_file
