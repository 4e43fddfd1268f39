#include "config/printing/parts.h"

#include <fmt/format.h>

namespace semel::config::printing {
namespace {

std::string_view name_of(BodyFingerprint body) {
  switch (body) {
    case BodyFingerprint::automatic:
      return "auto";
    case BodyFingerprint::json:
      return "json";
    case BodyFingerprint::form:
      return "form";
    case BodyFingerprint::raw:
      return "raw";
    case BodyFingerprint::none:
      return "none";
    case BodyFingerprint::multipart:
      return "multipart";
    case BodyFingerprint::digest:
      return "digest";
  }
  return "";
}

std::string_view scheme_of(bool tls) {
  return tls ? "https" : "http";
}

}  // namespace

std::string text_of(const HostPort& address) {
  const bool v6 = address.host.contains(':');
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", address.host, v6 ? "]" : "", address.port);
}

std::string text_of(const Url& url) {
  return fmt::format("{}://{}{}", scheme_of(url.tls), url.authority(), url.target);
}

std::string text_of(const Upstream& upstream) {
  return fmt::format("{}://{}{}", scheme_of(upstream.tls), text_of(upstream.address),
                     upstream.base_path);
}

std::string_view text_of(UnknownPolicy policy) {
  switch (policy) {
    case UnknownPolicy::hold:
      return "hold";
    case UnknownPolicy::retry:
      return "retry";
    case UnknownPolicy::fail:
      return "fail";
    case UnknownPolicy::probe:
      return "probe";
  }
  return "";
}

std::string_view text_of(Completes completes) {
  return completes == Completes::executor ? "executor" : "gateway";
}

std::string_view text_of(ForwardKey forward_key) {
  switch (forward_key) {
    case ForwardKey::as_is:
      return "as-is";
    case ForwardKey::derived:
      return "derived";
    case ForwardKey::none:
      return "none";
  }
  return "";
}

void print_client_tls(Yaml& out, std::string_view key, const http::TlsClientFiles& tls) {
  out.mapping(key, [&] {
    out.text("ca", tls.ca);
    out.text("cert", tls.cert);
    out.text("key", tls.key);
    out.flag("verify", tls.verify);
    out.text("server_name", tls.server_name);
  });
}

void print_limits(Yaml& out, const RouteLimits& limits) {
  out.mapping("limits", [&] {
    out.count("new_keys_per_second", limits.new_keys_per_second);
    out.count("burst", limits.burst);
    out.count("live_keys", limits.live_keys);
    out.count("in_flight", limits.in_flight);
  });
}

void print_fingerprint(Yaml& out, const FingerprintConfig& fingerprint) {
  out.mapping("fingerprint", [&] {
    out.text("body", name_of(fingerprint.body));
    out.texts("include", fingerprint.include);
    out.texts("exclude", fingerprint.exclude);
    out.texts("headers", fingerprint.headers);
    out.flag("query", fingerprint.query);
  });
}

void print_resource(Yaml& out, const ResourceConfig& resource) {
  out.mapping("resource", [&] {
    out.text("type", resource.type);
    out.text("id", resource.id);
  });
}

void print_probe(Yaml& out, const ProbeConfig& probe) {
  if (probe.url.target.empty()) return;
  out.mapping("probe", [&] {
    out.url("url", text_of(probe.url));
    out.duration("timeout", probe.timeout);
  });
}

void print_backoff(Yaml& out, Duration min, Duration max) {
  out.mapping("backoff", [&] {
    out.duration("min", min);
    out.duration("max", max);
  });
}

}  // namespace semel::config::printing
