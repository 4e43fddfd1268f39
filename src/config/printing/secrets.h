#pragma once

#include <string>
#include <string_view>

// Keeps secrets out of what is printed. In doubt something is hidden that is none.
namespace semel::config::printing {

inline constexpr std::string_view kHidden = "***";

// Returns the URL with its password hidden, a token that stands in the place of a user, and the
// values of parameters like `password` and `token`. A value with a placeholder, as in
// token={token}, is no secret.
std::string without_secrets(std::string_view url);

// Returns whether a header, or a property of a Kafka client, usually has a secret as its value.
bool names_secret(std::string_view name);

}  // namespace semel::config::printing
