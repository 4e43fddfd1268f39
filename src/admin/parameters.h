#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// The parameters of a query string. Errors are sentences for whoever asks.
namespace semel::admin {

// Calls `use` for every name=value of a query string, decoded, until `use` complains. Returns the
// complaint, or nullopt.
using UseParameter =
    std::function<std::optional<std::string>(std::string_view name, std::string_view value)>;
std::optional<std::string> for_parameters(std::string_view query, const UseParameter& use);
// For a path that takes none.
std::optional<std::string> no_parameters(std::string_view query);

// Complains about a parameter that is not one of `known`, a list in words.
std::string unknown_parameter(std::string_view name, std::string_view known);
// Reads a number from 1 to `most`.
std::optional<std::string> read_count(std::string_view name, std::string_view value,
                                      std::size_t most, std::size_t& out);

}  // namespace semel::admin
