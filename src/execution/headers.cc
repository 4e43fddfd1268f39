#include "execution/headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>

#include "base/text.h"
#include "http/fields/never_kept.h"
#include "http/fields/traceparent.h"

namespace semel::execution {
namespace {

using http::iequals;

constexpr auto kHopByHop = std::to_array<std::string_view>(
    {"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "TE", "Trailer",
     "Upgrade", "Transfer-Encoding"});

// Fields that Semel reads in every request or writes into it. The route's configuration adds
// others.
constexpr auto kGuarded = std::to_array<std::string_view>(
    {"Host", "Content-Length", "Content-Type", "Content-Encoding", "Content-Digest",
     "Authorization", "Cookie", "Idempotency-Key", "X-Forwarded-For", "X-Forwarded-Proto",
     "X-Forwarded-Host", "X-Forwarded-Port", "X-Real-IP", "Forwarded", "Traceparent", "Tracestate",
     "Prefer"});
constexpr std::string_view kSemelPrefix = "Semel-";

// Fields that an upstream may not set in our name.
constexpr auto kOurs = std::to_array<std::string_view>(
    {"Idempotency-Key", "Idempotency-Expires", "Idempotency-Replayed", "Idempotency-Outcome",
     "Idempotency-Replay", "Idempotency-Degraded", "Semel-Record"});

// Not kept: they belong to the moment, the connection or the session, not to the answer.
constexpr auto kNeverReplayed = std::to_array<std::string_view>(
    {"Date", "Set-Cookie", "Server", "Alt-Svc", "WWW-Authenticate", "Proxy-Authenticate",
     "RateLimit", "RateLimit-Policy", "Request-Id", "X-Request-Id", "X-Correlation-Id",
     "X-Amzn-RequestId", "X-Amzn-Trace-Id", "CF-Ray", "Traceparent", "Tracestate", "Age",
     "Content-Length"});
constexpr auto kNeverReplayedPrefixes =
    std::to_array<std::string_view>({"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"});

bool listed(const auto& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const auto& n) { return iequals(n, name); });
}

bool has_prefix(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && iequals(name.substr(0, prefix.size()), prefix);
}

// Calls `use(option)` for every option of the Connection fields.
void for_options(const std::vector<http::Field>& fields, const auto& use) {
  for (const http::Field& field : fields) {
    if (!iequals(field.name, "Connection")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view option = base::trim(rest.substr(0, comma));
      if (!option.empty()) use(option);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
}

bool is_odd(std::string_view name) {
  return !std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// Returns whether two names are the same to services that know fields by their CGI names: any
// character that is not a letter or digit counts as the same one.
bool folds_to(std::string_view name, std::string_view other) {
  const auto folded = [](char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
  };
  return name.size() == other.size() && std::ranges::equal(name, other, {}, folded, folded);
}

bool is_forwarded(std::string_view name) {
  return iequals(name, "X-Forwarded-For") || iequals(name, "X-Forwarded-Proto") ||
         iequals(name, "X-Forwarded-Host") || iequals(name, "Forwarded");
}

// Fields about the client that only a proxy that Semel trusts may set.
bool is_trusted_proxys(std::string_view name) {
  return iequals(name, "X-Forwarded-Port") || iequals(name, "X-Real-IP");
}

std::optional<std::string_view> first(const std::vector<http::Field>& fields,
                                      std::string_view name) {
  for (const http::Field& field : fields) {
    if (iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

void append_forwarded(std::string& head, const RequestHead& request) {
  std::string chain;
  std::string_view proto = request.forwarded.tls ? "https" : "http";
  std::string_view host = first(request.fields, "Host").value_or("");
  if (request.forwarded.from_trusted_proxy) {
    for (const http::Field& field : request.fields) {
      if (iequals(field.name, "X-Forwarded-For")) {
        if (!chain.empty()) chain += ", ";
        chain += field.value;
      }
    }
    proto = first(request.fields, "X-Forwarded-Proto").value_or(proto);
    host = first(request.fields, "X-Forwarded-Host").value_or(host);
  }
  if (!chain.empty()) chain += ", ";
  chain += request.forwarded.peer_address;
  http::append_header(head, "X-Forwarded-For", chain);
  http::append_header(head, "X-Forwarded-Proto", proto);
  if (!host.empty()) http::append_header(head, "X-Forwarded-Host", host);
}

}  // namespace

HopByHop::HopByHop(const std::vector<http::Field>& fields) {
  for_options(fields, [&](std::string_view name) {
    if (!iequals(name, "close") && !iequals(name, "keep-alive")) named_.push_back(name);
  });
}

bool names_option(const std::vector<http::Field>& fields, std::string_view option) {
  bool found = false;
  for_options(fields, [&](std::string_view name) { found = found || iequals(name, option); });
  return found;
}

bool HopByHop::is_always(std::string_view name) {
  return listed(kHopByHop, name);
}

bool HopByHop::is_named(std::string_view name) const {
  return listed(named_, name);
}

std::string_view traceparent_of(const std::vector<http::Field>& fields) {
  std::string_view found;
  for (const http::Field& field : fields) {
    if (!iequals(field.name, "Traceparent")) continue;
    if (!found.empty() || !http::is_traceparent(field.value)) return {};
    found = field.value;
  }
  return found;
}

PassedOn::PassedOn(const std::vector<http::Field>& fields, const config::TenantConfig& tenant,
                   const config::RouteConfig& route)
    : hop_by_hop_(fields),
      tenant_(tenant),
      route_(route),
      has_trace_(!traceparent_of(fields).empty()),
      is_named_oddly_(any_configured(is_odd)) {}

bool PassedOn::any_configured(const auto& fits) const {
  if (fits(route_.key.header) || std::ranges::any_of(route_.key.aliases, fits)) return true;
  if (fits(tenant_.header_name)) return true;
  if (std::ranges::any_of(route_.fingerprint.headers, fits)) return true;
  if (!route_.webhook) return false;
  const auth::WebhookScheme& scheme = route_.webhook->scheme;
  return fits(scheme.signature_header) || fits(scheme.timestamp_header) ||
         fits(scheme.kind_header) || std::ranges::any_of(scheme.id_headers, fits);
}

// Call it only for a name that is not guarded itself.
bool PassedOn::imitates(std::string_view name) const {
  if (!is_odd(name) && !is_named_oddly_) return false;  // it would have to be one of those names
  const auto fits = [&](std::string_view other) { return folds_to(name, other); };
  return std::ranges::any_of(kHopByHop, fits) || std::ranges::any_of(kGuarded, fits) ||
         folds_to(name.substr(0, kSemelPrefix.size()), kSemelPrefix) || any_configured(fits);
}

bool PassedOn::contains(std::string_view name) const {
  if (HopByHop::is_always(name) || has_prefix(name, kSemelPrefix)) return false;
  if (!has_trace_ && (iequals(name, "Traceparent") || iequals(name, "Tracestate"))) return false;
  const auto is_it = [&](std::string_view guarded) { return iequals(name, guarded); };
  if (std::ranges::any_of(kGuarded, is_it) || any_configured(is_it)) return true;
  return !hop_by_hop_.is_named(name) && !imitates(name);
}

std::string upstream_head(const RequestHead& request, const PassedOn& passed_on,
                          std::string_view base_path, const BodyFraming& framing,
                          const std::vector<std::string>& drop, const std::vector<Header>& extra) {
  std::string head;
  head.reserve(512);
  head.append(request.method).append(" ").append(base_path).append(request.target);
  head.append(" HTTP/1.1\r\n");
  for (const http::Field& field : request.fields) {
    if (iequals(field.name, "Content-Length") || iequals(field.name, "Expect") ||
        is_forwarded(field.name) || listed(drop, field.name) || !passed_on.contains(field.name) ||
        (is_trusted_proxys(field.name) && !request.forwarded.from_trusted_proxy)) {
      continue;
    }
    http::append_header(head, field.name, field.value);
  }
  if (!first(request.fields, "Host")) http::append_header(head, "Host", "localhost");
  append_forwarded(head, request);
  for (const Header& header : extra) http::append_header(head, header.name, header.value);
  if (framing.chunked) {
    http::append_header(head, "Transfer-Encoding", "chunked");
  } else if (framing.length) {
    http::append_header(head, "Content-Length", fmt::format_int(*framing.length).c_str());
  }
  head.append("\r\n");
  return head;
}

bool is_ours(std::string_view name, const config::RouteConfig& route, bool keyed) {
  if (iequals(name, "Content-Length") || iequals(name, route.replayed_header)) return true;
  return keyed ? listed(kOurs, name) : iequals(name, "Idempotency-Outcome");
}

std::vector<Header> client_headers(const http::Response& response, const config::RouteConfig& route,
                                   bool keyed) {
  std::vector<Header> headers;
  headers.reserve(response.fields().size());
  for_client_fields(response, route, keyed, [&](const http::Field& field) {
    headers.push_back({std::string(field.name), std::string(field.value)});
  });
  return headers;
}

bool is_kept(std::string_view name, const config::RouteConfig& route) {
  if (http::is_never_kept(name) || iequals(name, route.replayed_header)) return false;
  const bool denied = listed(kNeverReplayed, name) || listed(route.replay_headers_deny, name) ||
                      std::ranges::any_of(kNeverReplayedPrefixes, [&](std::string_view prefix) {
                        return has_prefix(name, prefix);
                      });
  return !denied || listed(route.replay_headers_allow, name);
}

std::vector<Header> kept_headers(const std::vector<Header>& headers,
                                 const config::RouteConfig& route) {
  std::vector<Header> kept;
  for (const Header& header : headers) {
    if (is_kept(header.name, route)) kept.push_back(header);
  }
  return kept;
}

std::string quoted_key(std::string_view key) {
  std::string out;
  append_quoted_key(out, key);
  return out;
}

void append_quoted_key(std::string& out, std::string_view key) {
  out.push_back('"');
  if (key.find_first_of("\"\\") == std::string_view::npos) {
    out.append(key);
  } else {
    for (const char c : key) {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  }
  out.push_back('"');
}

}  // namespace semel::execution
