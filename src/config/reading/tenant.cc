#include "config/reading/tenant.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "core/fingerprint/json_pointer.h"

namespace semel::config::reading {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct TenantDraft {
  std::optional<TenantSource> from;
  TenantConfig config;
};

void read_from(const Field& field, TenantDraft& out) {
  TenantSource from;
  if (read_choice(field,
                  {{"authorization", TenantSource::authorization},
                   {"jwt", TenantSource::jwt},
                   {"introspect", TenantSource::introspect},
                   {"mtls", TenantSource::mtls},
                   {"header", TenantSource::header},
                   {"none", TenantSource::none}},
                  from)) {
    out.from = from;
  }
}

void read_claim(const Field& field, TenantDraft& out) {
  std::string& claim = out.config.jwt.claim;
  field.read(claim, 1, kTextLengthMax);
  if (!claim.starts_with('/')) return;
  const auto pointer = core::JsonPointer::parse(claim);
  const bool is_one =
      pointer && std::ranges::none_of(pointer->segments, &core::PointerSegment::every);
  if (!is_one) field.bad_value("is not a JSON Pointer to one claim; write it like /org/id");
}

void read_audience(const Field& field, TenantDraft& out) {
  std::vector<std::string> audiences;
  for (const Field& item : field.item_or_items()) {
    item.read(audiences.emplace_back(), 1, kTextLengthMax);
  }
  out.config.jwt.audiences = std::move(audiences);
}

void read_introspect_url(const Field& field, TenantDraft& out) {
  if (std::optional<Url> url = field.parsed(parse_url)) out.config.introspect.url = *std::move(url);
}

constexpr std::array kTenantKeys = std::to_array<Key<TenantDraft>>({
    {"from", read_from},
    {"schemes",
     [](const Field& f, TenantDraft& out) { f.read_header_names(out.config.schemes); }},
    {"name", [](const Field& f, TenantDraft& out) { f.read_header_name(out.config.header_name); }},
    {"claim", read_claim},
    {"jwks_file",
     [](const Field& f, TenantDraft& out) {
       f.read(out.config.jwt.jwks_file, 1, kFilePathLengthMax);
     }},
    {"secret_file",
     [](const Field& f, TenantDraft& out) {
       f.read(out.config.jwt.secret_file, 1, kFilePathLengthMax);
     }},
    {"issuer",
     [](const Field& f, TenantDraft& out) { f.read(out.config.jwt.issuer, 1, kTextLengthMax); }},
    {"audience", read_audience},
    {"leeway", [](const Field& f,
                  TenantDraft& out) { f.read(out.config.jwt.leeway, seconds(0), minutes(10)); }},
    {"url", read_introspect_url},
    {"tenant_header",
     [](const Field& f, TenantDraft& out) {
       f.read_header_name(out.config.introspect.tenant_header);
     }},
    {"cache_for",
     [](const Field& f, TenantDraft& out) {
       f.read(out.config.introspect.cache_for, seconds(0), minutes(5));
     }},
    {"timeout",
     [](const Field& f, TenantDraft& out) {
       f.read(out.config.introspect.timeout, milliseconds(1), minutes(1));
     }},
    {"identity",
     [](const Field& f, TenantDraft& out) {
       read_choice(f, {{"san", http::PeerName::san}, {"subject", http::PeerName::subject}},
                   out.config.identity);
     }},
});

struct Belongs {
  std::string_view key;
  TenantSource from;
  std::string_view from_name;
};
constexpr std::array kBelongs = std::to_array<Belongs>({
    {"schemes", TenantSource::authorization, "authorization"},
    {"name", TenantSource::header, "header"},
    {"claim", TenantSource::jwt, "jwt"},
    {"jwks_file", TenantSource::jwt, "jwt"},
    {"secret_file", TenantSource::jwt, "jwt"},
    {"issuer", TenantSource::jwt, "jwt"},
    {"audience", TenantSource::jwt, "jwt"},
    {"leeway", TenantSource::jwt, "jwt"},
    {"url", TenantSource::introspect, "introspect"},
    {"tenant_header", TenantSource::introspect, "introspect"},
    {"cache_for", TenantSource::introspect, "introspect"},
    {"timeout", TenantSource::introspect, "introspect"},
    {"identity", TenantSource::mtls, "mtls"},
});

void check_jwt(const Field& field) {
  const auto has = [&](std::string_view name) { return field.node().find(name) != nullptr; };
  if (has("jwks_file") == has("secret_file")) {
    field.at("jwks_file").error("jwt needs either jwks_file or secret_file");
  }
  for (const std::string_view name : {"issuer", "audience"}) {
    if (has(name)) continue;
    field.at(name).warn(fmt::format("not set: tokens of any {} are accepted", name));
  }
}

void check_introspect(const Field& field) {
  for (const std::string_view name : {"url", "tenant_header"}) {
    if (field.node().find(name) == nullptr) {
      field.at(name).error("required with from: introspect");
    }
  }
}

}  // namespace

void read_tenant(const Field& field, TenantConfig& out) {
  TenantDraft draft;
  read_mapping(field, kTenantKeys, draft);
  const bool is_read = field.node().kind == NodeKind::mapping;
  if (is_read && field.node().find("from") == nullptr) {
    field.at("from").error("required; use authorization, jwt, introspect, mtls, header or none");
  }
  if (!draft.from) return;
  for (const Belongs& belongs : kBelongs) {
    if (draft.from != belongs.from && field.node().find(belongs.key) != nullptr) {
      field.at(belongs.key)
          .error(fmt::format("allowed only with from: {}; remove it", belongs.from_name));
    }
  }
  if (draft.from == TenantSource::header && field.node().find("name") == nullptr) {
    field.at("name").error("required with from: header; the name of the header, like X-Tenant");
  }
  if (draft.from == TenantSource::jwt) check_jwt(field);
  if (draft.from == TenantSource::introspect) check_introspect(field);
  out = std::move(draft.config);
  out.from = *draft.from;
}

void check_tenant(const Field& root, const Config& config) {
  const Node* proxies = root.node().find("trusted_proxies");
  if (config.tenant.from == TenantSource::header &&
      (proxies == nullptr || proxies->children.empty())) {
    root.at("tenant").at("from").error(
        "header is trusted only from trusted_proxies, and there are none; list the addresses of "
        "the proxies in front");
  }
  if (config.tenant.from == TenantSource::mtls && (!config.tls || config.tls->client_ca.empty())) {
    root.at("tenant").at("from").error(
        "mtls needs tls.client_ca, the CA that signs client certificates");
  }
}

}  // namespace semel::config::reading
