#include "http/fields/never_kept.h"

#include <algorithm>
#include <array>

#include "http/message.h"

namespace semel::http {
namespace {

constexpr std::array kNeverKept = {
    std::string_view("Authorization"),       std::string_view("Proxy-Authorization"),
    std::string_view("Authentication-Info"), std::string_view("Proxy-Authentication-Info"),
    std::string_view("Set-Cookie2"),         std::string_view("Clear-Site-Data"),
};

}  // namespace

bool is_never_kept(std::string_view header_name) {
  return std::ranges::any_of(kNeverKept,
                             [&](std::string_view name) { return iequals(name, header_name); });
}

}  // namespace semel::http
