#include "config/reading/tls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace semel::config_file {
namespace {
constexpr std::array kTlsKeys = std::to_array<Key<net::TlsServerFiles>>({
    {"cert",
     [](const Field& f, net::TlsServerFiles& out) { f.read(out.cert, 1, kFilePathLengthMax); }},
    {"key",
     [](const Field& f, net::TlsServerFiles& out) { f.read(out.key, 1, kFilePathLengthMax); }},
    {"client_ca", [](const Field& f,
                     net::TlsServerFiles& out) { f.read(out.client_ca, 1, kFilePathLengthMax); }},
    {"client_cert",
     [](const Field& f, net::TlsServerFiles& out) {
       read_choice(f,
                   {{"optional", net::ClientCertificate::optional},
                    {"required", net::ClientCertificate::required}},
                   out.client_cert);
     }},
});

constexpr std::array kUpstreamTlsKeys = std::to_array<Key<net::TlsClientFiles>>({
    {"ca", [](const Field& f, net::TlsClientFiles& out) { f.read(out.ca, 0, kFilePathLengthMax); }},
    {"cert",
     [](const Field& f, net::TlsClientFiles& out) { f.read(out.cert, 0, kFilePathLengthMax); }},
    {"key",
     [](const Field& f, net::TlsClientFiles& out) { f.read(out.key, 0, kFilePathLengthMax); }},
    {"verify",
     [](const Field& f, net::TlsClientFiles& out) {
       f.read(out.verify);
       if (!out.verify) {
         f.warn("false: whoever sits between here and the upstream can read and change everything");
       }
     }},
    {"server_name",
     [](const Field& f, net::TlsClientFiles& out) {
       std::string name;
       f.read(name, 0, 253);
       if (!name.empty() && !is_host(name)) {
         f.bad_value("is not the name of a host");
         return;
       }
       out.server_name = std::move(name);
     }},
});

}  // namespace

void read_tls(const Field& field, std::optional<net::TlsServerFiles>& out) {
  net::TlsServerFiles tls;
  read_mapping(field, kTlsKeys, tls);
  if (field.node().kind == NodeKind::mapping) {
    for (const std::string_view name : {"cert", "key"}) {
      if (field.node().find(name) == nullptr) field.at(name).error("required; a PEM file");
    }
    if (field.node().find("client_cert") != nullptr && field.node().find("client_ca") == nullptr) {
      field.at("client_cert").error("only with client_ca; remove it");
    }
  }
  out = std::move(tls);
}

void read_upstream_tls(const Field& field, net::TlsClientFiles& out) {
  read_mapping(field, kUpstreamTlsKeys, out);
}

void check_upstream_tls(const Field& route, const RouteConfig& config) {
  const Field field = route.at("upstream_tls");
  const net::TlsClientFiles& tls = config.upstream_tls;
  if (tls.cert.empty() != tls.key.empty()) {
    field.error("cert and key belong together; give both or none");
  }
  const bool is_given = route.node().find("upstream_tls") != nullptr;
  if (is_given && std::ranges::none_of(config.upstreams, &Upstream::tls)) {
    field.warn("has no effect without an https:// upstream");
  }
}

}  // namespace semel::config_file
