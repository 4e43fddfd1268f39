#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config.h"
#include "net/message.h"
#include "semel/record.h"
#include "semel/time.h"

// Which header fields go where: to the upstream, to the client, into the record.
namespace semel {

// Fields that concern one connection only, the ones named in Connection among them.
class HopByHop {
 public:
  explicit HopByHop(const std::vector<net::Field>& fields);
  bool contains(std::string_view name) const;

 private:
  std::vector<std::string_view> named_;
};

// The client's side of a request, as told to the upstream.
struct Forwarded {
  std::string peer_address;
  bool from_trusted_proxy = false;
  bool tls = false;
};

// How the body is announced to the upstream.
struct BodyFraming {
  bool chunked = false;
  std::optional<std::uint64_t> length;  // nullopt and not chunked: no body
};

// What a client's request says before its body: views into what its owner keeps alive.
struct RequestHead {
  std::string_view method;
  std::string_view target;  // in origin form
  const std::vector<net::Field>& fields;
  const Forwarded& forwarded;
};

// Builds the head of the request that goes to the upstream. Hop-by-hop fields, forged Semel-*
// fields and Expect are left out; `drop` names further fields; `extra` is appended as it is.
// Connection cannot remove the Host, or the key: the executor may rely on it.
std::string upstream_head(const RequestHead& request, const KeyConfig& key,
                          std::string_view base_path, const BodyFraming& framing,
                          const std::vector<std::string>& drop, const std::vector<Header>& extra);

// Calls `use(field)` for every end-to-end field of an answer that the client that caused it gets.
// What only Semel may say is left out of the answer to a keyed request.
bool is_ours(std::string_view name, bool keyed);
template <typename Use>
void for_client_fields(const net::Response& response, bool keyed, Use use) {
  const HopByHop hop_by_hop(response.fields());
  for (const net::Field& field : response.fields()) {
    if (!hop_by_hop.contains(field.name) && !is_ours(field.name, keyed)) use(field);
  }
}
std::vector<Header> client_headers(const net::Response& response, bool keyed);

// Those of them that are kept for replays.
std::vector<Header> kept_headers(const std::vector<Header>& headers, const RouteConfig& route);

std::string_view reason_phrase(int status);
void append_status_line(std::string& head, int status);
void append_header(std::string& head, std::string_view name, std::string_view value);

// Sun, 06 Nov 1994 08:49:37 GMT
std::string http_date(Time at);
void append_http_date(std::string& out, Time at);

// The key as an RFC 9651 String.
std::string quoted_key(std::string_view key);
void append_quoted_key(std::string& out, std::string_view key);

}  // namespace semel
