#include "config/reading/telemetry.h"

#include <array>
#include <charconv>

#include "auth/webhook_signature.h"

namespace semel::config::reading {
namespace {

constexpr std::string_view kTracesPath = "/v1/traces";
constexpr std::size_t kNotifySecretLengthMax = 1024;

// Like the base URL of an OpenTelemetry exporter: the path of the traces is appended, unless it is
// there already.
Parsed<Url> parse_collector(std::string_view text) {
  Parsed<Url> url = parse_url(text);
  if (!url) return url;
  if (url->target.contains('?')) {
    return std::unexpected("has a query; write it like http://127.0.0.1:4318");
  }
  if (!url->target.ends_with(kTracesPath)) {
    if (url->target.ends_with('/')) url->target.pop_back();
    url->target += kTracesPath;
  }
  return url;
}

Parsed<double> parse_share(std::string_view text) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  const bool is_share =
      error == std::errc{} && end == text.data() + text.size() && share >= 0 && share <= 1;
  if (!is_share) return std::unexpected("is not a share; use a number from 0 to 1, like 0.1");
  return share;
}

constexpr std::array kTracingKeys = std::to_array<Key<TracingConfig>>({
    {"otlp",
     [](const Field& f, TracingConfig& out) {
       if (auto url = f.parsed(parse_collector)) out.otlp = *std::move(url);
     }},
    {"sample",
     [](const Field& f, TracingConfig& out) {
       if (const auto share = f.parsed(parse_share)) out.sample = *share;
     }},
});

void read_secret(const Field& field, NotifyConfig& out) {
  const std::optional<std::string> text = field.text();
  if (!text) return;
  if (text->size() > kNotifySecretLengthMax) {
    field.error("is longer than 1024 characters");
    return;
  }
  auto secret = auth::parse_webhook_secret(*auth::find_webhook_scheme("standard"), *text);
  if (!secret) {
    field.error(secret.error());
  } else if (secret->kind != auth::WebhookSecret::Kind::hmac_sha256) {
    field.error("is a public key, which cannot sign; use a secret like whsec_…");
  } else {
    out.secret = std::move(secret->bytes);
  }
}

constexpr std::array kNotifyKeys = std::to_array<Key<NotifyConfig>>({
    {"url",
     [](const Field& f, NotifyConfig& out) {
       if (auto url = f.parsed(parse_url)) out.url = *std::move(url);
     }},
    {"secret", read_secret},
});

bool lacks(const Field& field, std::string_view name) {
  return field.node().kind == NodeKind::mapping && field.node().find(name) == nullptr;
}

}  // namespace

void read_tracing(const Field& field, TracingConfig& out) {
  read_mapping(field, kTracingKeys, out);
  if (lacks(field, "otlp")) {
    field.at("otlp").error("required; the URL of a collector, like http://127.0.0.1:4318");
  }
}

void read_notify(const Field& field, NotifyConfig& out) {
  read_mapping(field, kNotifyKeys, out);
  if (lacks(field, "url")) field.at("url").error("required; where to POST notifications");
  if (lacks(field, "secret")) {
    field.at("secret").error(
        "required; it signs what is sent, like \"${NOTIFY_SECRET}\" with whsec_ and 16 or more "
        "bytes in base64");
  }
}

}  // namespace semel::config::reading
