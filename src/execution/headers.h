#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "http/head.h"
#include "http/message.h"
#include "semel/driver/record.h"
#include "semel/time.h"

// Which header fields go where: to the upstream, to the client, into the record.
namespace semel::execution {

// Fields that concern only one connection, including those named in Connection.
class HopByHop {
 public:
  explicit HopByHop(const std::vector<http::Field>& fields);
  // True for a field that is hop-by-hop by its nature or because Connection names it.
  bool contains(std::string_view name) const { return is_always(name) || is_named(name); }
  static bool is_always(std::string_view name);
  bool is_named(std::string_view name) const;

 private:
  std::vector<std::string_view> named_;
};

// Returns whether a Connection field has this option.
bool names_option(const std::vector<http::Field>& fields, std::string_view option);

// The client's side of a request, as told to the upstream.
struct Forwarded {
  std::string peer_address;
  bool from_trusted_proxy = false;
  bool tls = false;
};

// Decides which fields of a client's request are passed on. Leaves out:
//  - fields that concern one connection. But Connection cannot remove a field that Semel reads or
//    sets itself (the key, the tenant's name, the length): the upstream has to see the request that
//    Semel saw.
//  - fields that imitate a field that Semel reads or sets, or one of a connection, with another
//    character for a dash: to services that know fields by their CGI names, X_Tenant is X-Tenant.
//  - Semel-*, which only Semel sets.
//  - an invalid traceparent, with its tracestate.
// Refers to everything that it is made of.
class PassedOn {
 public:
  PassedOn(const std::vector<http::Field>& fields, const config::TenantConfig& tenant,
           const config::RouteConfig& route);
  bool contains(std::string_view name) const;

 private:
  // Returns whether `fits(name)` holds for any field that the configuration tells Semel to read.
  bool any_configured(const auto& fits) const;
  bool imitates(std::string_view name) const;

  HopByHop hop_by_hop_;
  const config::TenantConfig& tenant_;
  const config::RouteConfig& route_;
  bool has_trace_;
  bool is_named_oddly_;  // a configured name has more than letters, digits and dashes
};

// Returns the request's traceparent; "": there is none, more than one, or it is invalid.
std::string_view traceparent_of(const std::vector<http::Field>& fields);

// How the body is announced to the upstream.
struct BodyFraming {
  bool chunked = false;
  std::optional<std::uint64_t> length;  // nullopt and not chunked: no body
};

// The part of a client's request before its body: views into data that its owner keeps alive.
struct RequestHead {
  std::string_view method;
  std::string_view target;  // in origin form
  const std::vector<http::Field>& fields;
  const Forwarded& forwarded;
};

// Builds the head of the request to the upstream from those of the client's fields that are passed
// on, without Expect. `drop` names further fields to leave out; `extra` is appended as it is.
std::string upstream_head(const RequestHead& request, const PassedOn& passed_on,
                          std::string_view base_path, const BodyFraming& framing,
                          const std::vector<std::string>& drop, const std::vector<Header>& extra);

// Calls `use(field)` for every end-to-end field of an answer that goes to the client that caused
// it. Leaves out fields that only Semel may set: the mark of a replay always, the others in the
// answer to a keyed request.
bool is_ours(std::string_view name, const config::RouteConfig& route, bool keyed);
template <typename Use>
void for_client_fields(const http::Response& response, const config::RouteConfig& route, bool keyed,
                       Use use) {
  const HopByHop hop_by_hop(response.fields());
  for (const http::Field& field : response.fields()) {
    if (!hop_by_hop.contains(field.name) && !is_ours(field.name, route, keyed)) use(field);
  }
}
std::vector<Header> client_headers(const http::Response& response, const config::RouteConfig& route,
                                   bool keyed);

// Selects the fields that are kept for replays. The list is consulted again when an answer is sent
// from a record: somebody else may have completed it, or it was completed under another
// configuration.
bool is_kept(std::string_view name, const config::RouteConfig& route);
std::vector<Header> kept_headers(const std::vector<Header>& headers,
                                 const config::RouteConfig& route);

// Formats the key as an RFC 9651 String.
std::string quoted_key(std::string_view key);
void append_quoted_key(std::string& out, std::string_view key);

}  // namespace semel::execution
