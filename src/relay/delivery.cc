#include "relay/delivery.h"

#include <boost/json.hpp>

namespace semel::relay {

std::expected<std::vector<Header>, std::string> read_headers(std::string_view json_text) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(json_text, error);
  if (error || !value.is_object()) return std::unexpected("its headers are not an object");
  std::vector<Header> headers;
  for (const auto& [name, member] : value.get_object()) {
    if (!member.is_string()) return std::unexpected("one of its headers is not a string");
    headers.push_back({std::string(name), std::string(member.get_string())});
  }
  return headers;
}

}  // namespace semel::relay
