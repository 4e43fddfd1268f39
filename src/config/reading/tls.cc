#include "config/reading/tls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace semel::config::reading {
namespace {
constexpr std::array kTlsKeys = std::to_array<Key<http::TlsServerFiles>>({
    {"cert",
     [](const Field& f, http::TlsServerFiles& out) { f.read(out.cert, 1, kFilePathLengthMax); }},
    {"key",
     [](const Field& f, http::TlsServerFiles& out) { f.read(out.key, 1, kFilePathLengthMax); }},
    {"client_ca", [](const Field& f,
                     http::TlsServerFiles& out) { f.read(out.client_ca, 1, kFilePathLengthMax); }},
    {"client_cert",
     [](const Field& f, http::TlsServerFiles& out) {
       read_choice(f,
                   {{"optional", http::ClientCertificate::optional},
                    {"required", http::ClientCertificate::required}},
                   out.client_cert);
     }},
});

constexpr std::array kUpstreamTlsKeys = std::to_array<Key<http::TlsClientFiles>>({
    {"ca",
     [](const Field& f, http::TlsClientFiles& out) { f.read(out.ca, 0, kFilePathLengthMax); }},
    {"cert",
     [](const Field& f, http::TlsClientFiles& out) { f.read(out.cert, 0, kFilePathLengthMax); }},
    {"key",
     [](const Field& f, http::TlsClientFiles& out) { f.read(out.key, 0, kFilePathLengthMax); }},
    {"verify",
     [](const Field& f, http::TlsClientFiles& out) {
       f.read(out.verify);
       if (!out.verify) {
         f.warn("false: anyone between Semel and the upstream can read and change everything");
       }
     }},
    {"server_name",
     [](const Field& f, http::TlsClientFiles& out) {
       std::string name;
       f.read(name, 0, 253);
       if (!name.empty() && !is_host(name)) {
         f.bad_value("is not a host name");
         return;
       }
       out.server_name = std::move(name);
     }},
});

}  // namespace

void read_tls(const Field& field, std::optional<http::TlsServerFiles>& out) {
  http::TlsServerFiles tls;
  read_mapping(field, kTlsKeys, tls);
  if (field.node().kind == NodeKind::mapping) {
    for (const std::string_view name : {"cert", "key"}) {
      if (field.node().find(name) == nullptr) field.at(name).error("required; a PEM file");
    }
    if (field.node().find("client_cert") != nullptr && field.node().find("client_ca") == nullptr) {
      field.at("client_cert").error("allowed only with client_ca; remove it");
    }
  }
  out = std::move(tls);
}

void read_upstream_tls(const Field& field, http::TlsClientFiles& out) {
  read_mapping(field, kUpstreamTlsKeys, out);
}

void check_upstream_tls(const Field& route, const RouteConfig& config) {
  const Field field = route.at("upstream_tls");
  const http::TlsClientFiles& tls = config.upstream_tls;
  if (tls.cert.empty() != tls.key.empty()) {
    field.error("cert and key belong together; set both or neither");
  }
  const bool is_given = route.node().find("upstream_tls") != nullptr;
  if (is_given && std::ranges::none_of(config.upstreams, &Upstream::tls)) {
    field.warn("has no effect without an https:// upstream");
  }
}

}  // namespace semel::config::reading
