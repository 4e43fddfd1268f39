#include "execution/headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>

#include "base/text.h"
#include "http/never_kept.h"
#include "http/traceparent.h"

namespace semel {
namespace {

using net::iequals;

constexpr std::array kHopByHop = {
    std::string_view("Connection"),
    std::string_view("Keep-Alive"),
    std::string_view("Proxy-Connection"),
    std::string_view("Proxy-Authenticate"),
    std::string_view("TE"),
    std::string_view("Trailer"),
    std::string_view("Upgrade"),
    std::string_view("Transfer-Encoding"),
};

// Fields that Semel reads in every request or writes into it. The route's configuration adds
// others.
constexpr std::array kGuarded = {
    std::string_view("Host"),
    std::string_view("Content-Length"),
    std::string_view("Content-Type"),
    std::string_view("Content-Encoding"),
    std::string_view("Content-Digest"),
    std::string_view("Authorization"),
    std::string_view("Cookie"),
    std::string_view("Idempotency-Key"),
    std::string_view("X-Forwarded-For"),
    std::string_view("X-Forwarded-Proto"),
    std::string_view("X-Forwarded-Host"),
    std::string_view("X-Forwarded-Port"),
    std::string_view("X-Real-IP"),
    std::string_view("Forwarded"),
    std::string_view("Traceparent"),
    std::string_view("Tracestate"),
    std::string_view("Prefer"),
};
constexpr std::string_view kSemelPrefix = "Semel-";

// Fields that an upstream may not set in our name.
constexpr std::array kOurs = {
    std::string_view("Idempotency-Key"),      std::string_view("Idempotency-Expires"),
    std::string_view("Idempotency-Replayed"), std::string_view("Idempotency-Outcome"),
    std::string_view("Idempotency-Replay"),   std::string_view("Idempotency-Degraded"),
};

// Not kept: they belong to the moment, the connection or the session, not to the answer.
constexpr std::array kNeverReplayed = {
    std::string_view("Date"),
    std::string_view("Set-Cookie"),
    std::string_view("Server"),
    std::string_view("Alt-Svc"),
    std::string_view("WWW-Authenticate"),
    std::string_view("Proxy-Authenticate"),
    std::string_view("RateLimit"),
    std::string_view("RateLimit-Policy"),
    std::string_view("Request-Id"),
    std::string_view("X-Request-Id"),
    std::string_view("X-Correlation-Id"),
    std::string_view("X-Amzn-RequestId"),
    std::string_view("X-Amzn-Trace-Id"),
    std::string_view("CF-Ray"),
    std::string_view("Traceparent"),
    std::string_view("Tracestate"),
    std::string_view("Age"),
    std::string_view("Content-Length"),
};
constexpr std::array kNeverReplayedPrefixes = {
    std::string_view("RateLimit-"),
    std::string_view("X-RateLimit-"),
    std::string_view("X-Rate-Limit-"),
};

bool listed(const auto& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const auto& n) { return iequals(n, name); });
}

bool has_prefix(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && iequals(name.substr(0, prefix.size()), prefix);
}

// Calls `use(option)` for every option of the Connection fields.
void for_options(const std::vector<net::Field>& fields, const auto& use) {
  for (const net::Field& field : fields) {
    if (!iequals(field.name, "Connection")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view option = trim(rest.substr(0, comma));
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

std::optional<std::string_view> first(const std::vector<net::Field>& fields,
                                      std::string_view name) {
  for (const net::Field& field : fields) {
    if (iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

void append_forwarded(std::string& head, const RequestHead& request) {
  std::string chain;
  std::string_view proto = request.forwarded.tls ? "https" : "http";
  std::string_view host = first(request.fields, "Host").value_or("");
  if (request.forwarded.from_trusted_proxy) {
    for (const net::Field& field : request.fields) {
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
  append_header(head, "X-Forwarded-For", chain);
  append_header(head, "X-Forwarded-Proto", proto);
  if (!host.empty()) append_header(head, "X-Forwarded-Host", host);
}

}  // namespace

HopByHop::HopByHop(const std::vector<net::Field>& fields) {
  for_options(fields, [&](std::string_view name) {
    if (!iequals(name, "close") && !iequals(name, "keep-alive")) named_.push_back(name);
  });
}

bool names_option(const std::vector<net::Field>& fields, std::string_view option) {
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

std::string_view traceparent_of(const std::vector<net::Field>& fields) {
  std::string_view found;
  for (const net::Field& field : fields) {
    if (!iequals(field.name, "Traceparent")) continue;
    if (!found.empty() || !is_traceparent(field.value)) return {};
    found = field.value;
  }
  return found;
}

PassedOn::PassedOn(const std::vector<net::Field>& fields, const TenantConfig& tenant,
                   const RouteConfig& route)
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
  const WebhookScheme& scheme = route_.webhook->scheme;
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
  for (const net::Field& field : request.fields) {
    if (iequals(field.name, "Content-Length") || iequals(field.name, "Expect") ||
        is_forwarded(field.name) || listed(drop, field.name) || !passed_on.contains(field.name) ||
        (is_trusted_proxys(field.name) && !request.forwarded.from_trusted_proxy)) {
      continue;
    }
    append_header(head, field.name, field.value);
  }
  if (!first(request.fields, "Host")) append_header(head, "Host", "localhost");
  append_forwarded(head, request);
  for (const Header& header : extra) append_header(head, header.name, header.value);
  if (framing.chunked) {
    append_header(head, "Transfer-Encoding", "chunked");
  } else if (framing.length) {
    append_header(head, "Content-Length", fmt::format_int(*framing.length).c_str());
  }
  head.append("\r\n");
  return head;
}

bool is_ours(std::string_view name, const RouteConfig& route, bool keyed) {
  if (iequals(name, "Content-Length") || iequals(name, route.replayed_header)) return true;
  return keyed ? listed(kOurs, name) : iequals(name, "Idempotency-Outcome");
}

std::vector<Header> client_headers(const net::Response& response, const RouteConfig& route,
                                   bool keyed) {
  std::vector<Header> headers;
  headers.reserve(response.fields().size());
  for_client_fields(response, route, keyed, [&](const net::Field& field) {
    headers.push_back({std::string(field.name), std::string(field.value)});
  });
  return headers;
}

bool is_kept(std::string_view name, const RouteConfig& route) {
  if (is_never_kept(name) || iequals(name, route.replayed_header)) return false;
  const bool denied = listed(kNeverReplayed, name) || listed(route.replay_headers_deny, name) ||
                      std::ranges::any_of(kNeverReplayedPrefixes, [&](std::string_view prefix) {
                        return has_prefix(name, prefix);
                      });
  return !denied || listed(route.replay_headers_allow, name);
}

std::vector<Header> kept_headers(const std::vector<Header>& headers, const RouteConfig& route) {
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

}  // namespace semel
