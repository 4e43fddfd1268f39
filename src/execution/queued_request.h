#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "execution/headers.h"

namespace semel::execution {

// A request that is kept in its record to be executed later, with everything that the execution
// needs. The format is in docs/formats.md.
struct QueuedRequest {
  std::string route;  // the route's name
  std::string method;
  std::string target;  // in origin form
  std::vector<Header> headers;
  Forwarded forwarded;
  bool key_in_header = true;
  std::string key;  // as the client sent it; the record may have a digest only
  std::string body;
};

// `prefer` replaces the client's Prefer field. Fields that concern the connection are left out.
QueuedRequest to_queue(const RequestHead& head, const PassedOn& passed_on, std::string route,
                       std::string_view prefer, bool key_in_header, std::string key,
                       std::string body);

std::string encode(const QueuedRequest& request);
// nullopt: the bytes are not a queued request, or one of an unknown version.
std::optional<QueuedRequest> decode_queued_request(std::string_view bytes);

}  // namespace semel::execution
