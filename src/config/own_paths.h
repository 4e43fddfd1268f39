#pragma once

#include <string_view>

// Paths that Semel answers itself. Nothing below kReservedPath reaches an upstream.
namespace semel::config {

inline constexpr std::string_view kReservedPath = "/.semel/";
inline constexpr std::string_view kPolicyPath = "/.semel/policy";
inline constexpr std::string_view kOperationsPath = "/.semel/operations/";

}  // namespace semel::config
