#include "gateway/queued_request.h"

#include <algorithm>

#include "core/varint.h"

namespace semel {
namespace {

constexpr char kFormat = 1;

enum Flag : std::uint8_t {
  kFromTrustedProxy = 1,
  kKeyInHeader = 2,
  kTls = 4,
};

// Reads never pass the end: the first short read marks the whole bad.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  std::uint8_t u8() {
    if (in_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto byte = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return byte;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && ok_; shift += 7) {
      const std::uint8_t byte = u8();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string text() {
    const std::uint64_t size = varint();
    if (size > in_.size()) ok_ = false;
    if (!ok_) return {};
    std::string value(in_.substr(0, size));
    in_.remove_prefix(size);
    return value;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

 private:
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace

QueuedRequest to_queue(const RequestHead& head, const RouteConfig& route, std::string_view prefer,
                       bool key_in_header, std::string key, std::string body) {
  QueuedRequest request{
      route.name,    std::string(head.method), std::string(head.target), {}, head.forwarded,
      key_in_header, std::move(key),           std::move(body)};
  const HopByHop hop_by_hop(head.fields);
  for (const net::Field& field : head.fields) {
    const bool is_key = net::iequals(field.name, route.key.header) ||
                        std::ranges::any_of(route.key.aliases, [&](const std::string& alias) {
                          return net::iequals(field.name, alias);
                        });
    const bool stays = is_key || net::iequals(field.name, "Host");
    if ((hop_by_hop.contains(field.name) && !stays) || net::iequals(field.name, "Prefer")) continue;
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
  append_sized(request.route, out);
  append_sized(request.method, out);
  append_sized(request.target, out);
  append_sized(request.forwarded.peer_address, out);
  append_sized(request.key, out);
  append_varint(request.headers.size(), out);
  for (const Header& header : request.headers) {
    append_sized(header.name, out);
    append_sized(header.value, out);
  }
  append_sized(request.body, out);
  return out;
}

std::optional<QueuedRequest> decode_queued_request(std::string_view bytes) {
  Reader in(bytes);
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
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    std::string name = in.text();
    request.headers.push_back({std::move(name), in.text()});
  }
  request.body = in.text();
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return request;
}

}  // namespace semel
