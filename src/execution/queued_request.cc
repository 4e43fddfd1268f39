#include "execution/queued_request.h"

#include "base/varint.h"
#include "core/byte_reader.h"

namespace semel::execution {
namespace {

constexpr char kFormat = 1;

enum Flag : std::uint8_t {
  kFromTrustedProxy = 1,
  kKeyInHeader = 2,
  kTls = 4,
};

}  // namespace

QueuedRequest to_queue(const RequestHead& head, const PassedOn& passed_on, std::string route,
                       std::string_view prefer, bool key_in_header, std::string key,
                       std::string body) {
  QueuedRequest request{
      std::move(route), std::string(head.method), std::string(head.target), {}, head.forwarded,
      key_in_header,    std::move(key),           std::move(body)};
  for (const http::Field& field : head.fields) {
    if (!passed_on.contains(field.name) || http::iequals(field.name, "Prefer")) continue;
    request.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  if (!prefer.empty()) request.headers.push_back({"Prefer", std::string(prefer)});
  return request;
}

std::string encode(const QueuedRequest& request) {
  std::string out;
  out.reserve(request.body.size() + 512);
  out.push_back(kFormat);
  out.push_back(static_cast<char>((request.forwarded.from_trusted_proxy ? kFromTrustedProxy : 0) |
                                  (request.key_in_header ? kKeyInHeader : 0) |
                                  (request.forwarded.tls ? kTls : 0)));
  base::append_sized(request.route, out);
  base::append_sized(request.method, out);
  base::append_sized(request.target, out);
  base::append_sized(request.forwarded.peer_address, out);
  base::append_sized(request.key, out);
  base::append_varint(request.headers.size(), out);
  for (const Header& header : request.headers) {
    base::append_sized(header.name, out);
    base::append_sized(header.value, out);
  }
  base::append_sized(request.body, out);
  return out;
}

std::optional<QueuedRequest> decode_queued_request(std::string_view bytes) {
  core::ByteReader in(bytes);
  if (in.u8() != kFormat) return std::nullopt;
  QueuedRequest request;
  const std::uint8_t flags = in.u8();
  request.forwarded.from_trusted_proxy = flags & kFromTrustedProxy;
  request.key_in_header = flags & kKeyInHeader;
  request.forwarded.tls = flags & kTls;
  request.route = in.text();
  request.method = in.text();
  request.target = in.text();
  request.forwarded.peer_address = in.text();
  request.key = in.text();
  request.headers.resize(in.count());
  for (Header& header : request.headers) {
    header.name = in.text();
    header.value = in.text();
  }
  request.body = in.text();
  if (!in.finished()) return std::nullopt;
  return request;
}

}  // namespace semel::execution
