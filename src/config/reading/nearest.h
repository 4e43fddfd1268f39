#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace semel::config::reading {

// Returns the known name nearest to `name`; nullopt: none is near enough to be a typing error.
std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> known_names);

}  // namespace semel::config::reading
