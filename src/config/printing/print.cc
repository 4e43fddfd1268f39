#include "config/printing/print.h"

#include <fmt/format.h>

#include "config/printing/messages.h"
#include "config/printing/parts.h"
#include "config/printing/route.h"
#include "config/printing/secrets.h"
#include "config/printing/service.h"
#include "config/printing/store.h"
#include "config/printing/tenant.h"
#include "config/printing/yaml.h"

namespace semel::config {
namespace printing {
namespace {

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "";
}

std::string_view name_of(LogDecisions decisions) {
  switch (decisions) {
    case LogDecisions::all:
      return "all";
    case LogDecisions::changes:
      return "changes";
    case LogDecisions::none:
      return "none";
  }
  return "";
}

void print_listeners(Yaml& out, const Config& config) {
  std::vector<std::string> addresses;
  for (const HostPort& address : config.listen) addresses.push_back(text_of(address));
  out.texts("listen", addresses);
  if (config.tls) {
    out.mapping("tls", [&] {
      out.text("cert", config.tls->cert);
      out.text("key", config.tls->key);
      if (config.tls->client_ca.empty()) return;
      out.text("client_ca", config.tls->client_ca);
      const bool is_required = config.tls->client_cert == http::ClientCertificate::required;
      out.text("client_cert", is_required ? "required" : "optional");
    });
  }
  out.mapping("admin", [&] {
    out.text("listen", text_of(config.admin.listen));
    out.text_if_any("tokens_file", config.admin.tokens_file);
  });
  if (config.service) print_service(out, *config.service);
}

void print_file_limits(Yaml& out, const LimitsConfig& limits) {
  out.mapping("limits", [&] {
    out.count("connections", limits.connections);
    out.size("header_bytes", limits.header_bytes);
    out.duration("header_timeout", limits.header_timeout);
    out.duration("body_timeout", limits.body_timeout);
    out.count("in_flight", limits.in_flight);
    out.count("new_keys_per_second", limits.new_keys_per_second);
    out.count("live_keys", limits.live_keys);
  });
}

void print_log(Yaml& out, const LogConfig& log) {
  out.mapping("log", [&] {
    out.text("format", log.format == LogFormat::json ? "json" : "text");
    out.text("level", name_of(log.level));
    out.text("keys", log.keys == LogKeys::full ? "full" : "digest");
    out.text("decisions", name_of(log.decisions));
    out.text_if_any("file", log.file);
  });
}

void print_telemetry(Yaml& out, const Config& config) {
  print_log(out, config.log);
  if (config.tracing) {
    out.mapping("tracing", [&] {
      out.url("otlp", text_of(config.tracing->otlp));
      out.text("sample", fmt::format("{}", config.tracing->sample));
    });
  }
  if (config.notify) {
    out.mapping("notify", [&] {
      out.url("url", text_of(config.notify->url));
      out.text("secret", kHidden);
    });
  }
}

void print_process(Yaml& out, const Config& config) {
  out.count("workers", config.workers);
  out.text("namespace", config.name_space);
  print_store(out, config.store);
  out.mapping("cleanup", [&] {
    out.text("window", config.store.cleanup ? stores::to_string(*config.store.cleanup) : "always");
  });
  out.mapping("spool", [&] {
    out.text_if_any("path", config.spool.path);
    out.size("bytes_max", config.spool.bytes_max);
  });
  out.text_if_any("hash_key_file", config.hash_key_file);
  out.count("record_format", static_cast<std::uint64_t>(config.record_format));
  out.text("store_keys", config.store_keys == StoreKeys::digest ? "digest" : "plain");
  std::vector<std::string> proxies;
  for (const AddressRange& range : config.trusted_proxies) proxies.push_back(range.text);
  out.texts("trusted_proxies", proxies);
  print_tenant(out, config.tenant);
  print_file_limits(out, config.limits);
  out.duration("drain_timeout", config.drain_timeout);
  print_telemetry(out, config);
}

}  // namespace
}  // namespace printing

std::string print_yaml(const Config& config) {
  using namespace printing;
  Yaml out;
  print_listeners(out, config);
  print_process(out, config);
  if (config.relay) print_relay(out, *config.relay);
  if (!config.routes.empty()) {
    out.sequence("routes", [&] {
      for (const RouteConfig& route : config.routes) out.item([&] { print_route(out, route); });
    });
  }
  if (!config.consume.empty()) {
    out.sequence("consume", [&] {
      for (const ConsumeConfig& entry : config.consume) {
        out.item([&] { print_consume(out, entry); });
      }
    });
  }
  return out.finish();
}

}  // namespace semel::config
