#include "config/reading/route/webhook.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace semel::config::reading {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kCustom = "custom";
constexpr Duration kDefaultTtl = days(7);
constexpr std::size_t kSecretLengthMax = 1024;
constexpr std::size_t kWeakSecretBytes = 16;
constexpr std::size_t kPrefixLengthMax = 64;
constexpr std::size_t kSignedLengthMax = 256;
constexpr std::size_t kEventAttemptsMax = 1000;
constexpr std::size_t kKindsMax = 64;
constexpr std::size_t kKindLengthMax = 128;

// The mapping as it is written, before the provider is known.
struct WebhookDraft {
  WebhookConfig config;
  auth::WebhookScheme custom;
  std::string id_header;
  bool is_known = false;  // the provider
};

void read_provider(const Field& field, WebhookDraft& draft) {
  const std::optional<std::string> name = field.text();
  if (!name) return;
  if (*name == kCustom) {
    draft.is_known = true;
  } else if (const auth::WebhookScheme* scheme = auth::find_webhook_scheme(*name)) {
    draft.config.scheme = *scheme;
    draft.is_known = true;
  } else {
    std::vector<std::string_view> names = auth::webhook_providers();
    names.push_back(kCustom);
    report_bad_choice(field, *name, names, {});
  }
}

void read_event_pointer(const Field& field, WebhookDraft& draft) {
  const std::optional<std::string> pointer = field.text();
  if (!pointer) return;
  if (!check_pointer(*pointer)) {
    field.bad_value("is not a JSON Pointer to a member; write it like /id or /event/id");
    return;
  }
  draft.custom.id_pointer = *pointer;
}

void read_kinds(const Field& field, WebhookDraft& draft) {
  const std::vector<Field> items = field.item_or_items();
  if (items.size() > kKindsMax) {
    field.error(fmt::format("has more than {} entries", kKindsMax));
    return;
  }
  for (const Field& item : items) {
    std::string kind;
    item.read(kind, 1, kKindLengthMax);
    if (!kind.empty()) draft.config.kinds.push_back(std::move(kind));
  }
}

void read_signed(const Field& field, WebhookDraft& draft) {
  std::string signed_content;
  field.read(signed_content, 1, kSignedLengthMax);
  if (signed_content.empty()) return;
  const std::string wrong = auth::signed_content_error(signed_content);
  if (!wrong.empty()) {
    field.bad_value(wrong);
    return;
  }
  draft.custom.signed_content = std::move(signed_content);
}

constexpr std::array kEventBackoffKeys = std::to_array<Key<WebhookConfig>>({
    {"min", [](const Field& f,
               WebhookConfig& out) { f.read(out.backoff_min, milliseconds(10), hours(24)); }},
    {"max", [](const Field& f,
               WebhookConfig& out) { f.read(out.backoff_max, milliseconds(10), hours(24)); }},
});

constexpr std::array kWebhookKeys = std::to_array<Key<WebhookDraft>>({
    {"provider", read_provider},
    {"secrets", [](const Field&, WebhookDraft&) { /* by what the provider says of them */ }},
    {"tolerance",
     [](const Field& f, WebhookDraft& d) { f.read(d.config.tolerance, seconds(1), hours(24)); }},
    {"kinds", read_kinds},
    {"mode",
     [](const Field& f, WebhookDraft& d) {
       read_choice(f, {{"direct", WebhookMode::direct}, {"queue", WebhookMode::queue}},
                   d.config.mode);
     }},
    {"max_attempts",
     [](const Field& f, WebhookDraft& d) {
       f.read_count(d.config.max_attempts, 1, kEventAttemptsMax);
     }},
    {"backoff",
     [](const Field& f, WebhookDraft& d) { read_mapping(f, kEventBackoffKeys, d.config); }},
    {"signature_header",
     [](const Field& f, WebhookDraft& d) { f.read_header_name(d.custom.signature_header); }},
    {"algorithm",
     [](const Field& f, WebhookDraft&) {
       bool is_hmac = false;
       read_choice(f, {{"hmac-sha256", true}}, is_hmac);
     }},
    {"encoding",
     [](const Field& f, WebhookDraft& d) {
       read_choice(
           f, {{"hex", auth::SignatureEncoding::hex}, {"base64", auth::SignatureEncoding::base64}},
           d.custom.encoding);
     }},
    {"prefix",
     [](const Field& f, WebhookDraft& d) { f.read(d.custom.hmac_prefix, 0, kPrefixLengthMax); }},
    {"timestamp_header",
     [](const Field& f, WebhookDraft& d) { f.read_header_name(d.custom.timestamp_header); }},
    {"signed", read_signed},
    {"id_header", [](const Field& f, WebhookDraft& d) { f.read_header_name(d.id_header); }},
    {"id_pointer", read_event_pointer},
});

constexpr std::array<std::string_view, 8> kCustomOnly = {
    "signature_header", "algorithm", "encoding",  "prefix",
    "timestamp_header", "signed",    "id_header", "id_pointer"};

bool has(const Field& field, std::string_view name) {
  return field.node().find(name) != nullptr;
}

// Returns the scheme that the file describes.
auth::WebhookScheme custom_scheme(const Field& field, const WebhookDraft& draft) {
  auth::WebhookScheme scheme = draft.custom;
  scheme.name = kCustom;
  if (!has(field, "signature_header")) {
    field.at("signature_header").error("required with provider: custom, like X-Signature");
  }
  if (has(field, "id_header") == has(field, "id_pointer")) {
    field.at("id_header")
        .error("provider: custom needs either id_header or id_pointer, to find the event's id");
  }
  if (has(field, "id_header")) scheme.id_headers = {draft.id_header};
  const bool has_time = has(field, "timestamp_header");
  if (has_time && !has(field, "signed")) scheme.signed_content = "{timestamp}.{body}";
  const std::string_view content = scheme.signed_content;
  if (has_time != content.contains("{timestamp}")) {
    field.at("signed").error(
        "must contain {timestamp} if, and only if, timestamp_header is set: an unsigned time "
        "proves nothing");
  }
  if (content.contains("{id}") && !has(field, "id_header")) {
    field.at("signed").error("has {id}, so id_header is required");
  }
  return scheme;
}

void read_secrets(const Field& field, WebhookConfig& out) {
  if (!has(field, "secrets")) {
    field.at("secrets").error("required; a list, like [\"${WEBHOOK_SECRET}\"]");
    return;
  }
  const Field list = field.at("secrets");
  const std::vector<Field> items = list.item_or_items();
  if (items.empty() && list.node().kind == NodeKind::sequence) {
    list.error("must have at least one secret");
  }
  if (items.size() > auth::kWebhookSecretsMax) {
    list.error(fmt::format("has more than {} entries", auth::kWebhookSecretsMax));
    return;
  }
  for (const Field& item : items) {
    const std::optional<std::string> text = item.text();
    if (!text) continue;
    if (text->size() > kSecretLengthMax) {
      item.error(fmt::format("is longer than {} characters", kSecretLengthMax));
      continue;
    }
    auto secret = auth::parse_webhook_secret(out.scheme, *text);
    if (!secret) {
      item.error(secret.error());
      continue;
    }
    if (secret->bytes.size() < kWeakSecretBytes) {
      item.warn("is short: anyone who sees one signature can try all secrets of this length");
    }
    out.secrets.push_back(*std::move(secret));
  }
}

// A key that cannot be combined with a webhook, and why.
struct Conflict {
  std::string_view key;
  std::string_view why;
};
constexpr std::array kConflicts = std::to_array<Conflict>({
    {"key", "the event's id is the key"},
    {"methods", "events arrive by POST, and nothing else is served"},
    {"profile", "a provider does not read the answer"},
    {"scope", "events always count within their route"},
    {"fingerprint", "the signature covers the event, and its id identifies it"},
    {"reauthorize", "a provider has no credential to check"},
});

void check_conflicts(const Field& route) {
  for (const Conflict& conflict : kConflicts) {
    if (has(route, conflict.key)) {
      route.at(conflict.key)
          .error(fmt::format("not allowed with webhook: {}; remove it", conflict.why));
    }
  }
}

void check_queue(const Field& route, const std::optional<Field>& defaults, RouteDraft& draft) {
  const auto is_given = [&](std::string_view name) {
    return has(route, name) || (defaults && has(*defaults, name));
  };
  RouteConfig& config = draft.config;
  if (!is_given("unknown")) {
    route.at("unknown").error(
        "required with webhook mode: queue, because nobody sends the event again; use retry if the "
        "upstream deduplicates by the key, otherwise hold or probe");
  } else if (config.operation.unknown == UnknownPolicy::fail) {
    route.at("unknown").error(
        "fail answers a client, and a queue has no client; use hold, retry or probe");
  }
  if (has(route, "max_request_body") && config.max_request_body > kQueuedBodyBytesMax) {
    route.at("max_request_body")
        .error(fmt::format("a queued event is kept in its record, which takes at most {}",
                           format_size(kQueuedBodyBytesMax)));
  }
  config.max_request_body = std::min(config.max_request_body, kQueuedBodyBytesMax);
}

void check_ttl(const Field& route, const RouteDraft& draft) {
  const auth::WebhookScheme& scheme = draft.config.webhook->scheme;
  if (draft.config.operation.ttl >= scheme.retried_for) return;
  route.at("ttl").warn(fmt::format(
      "is {}, but {} may send an event again for {}: a late repeat would count as a new event",
      format_duration(draft.config.operation.ttl), scheme.name,
      format_duration(scheme.retried_for)));
}

}  // namespace

void read_webhook(const Field& field, std::optional<WebhookConfig>& out) {
  WebhookDraft draft;
  read_mapping(field, kWebhookKeys, draft);
  out.emplace();
  if (field.node().kind != NodeKind::mapping) return;
  if (!has(field, "provider")) {
    field.at("provider").error("required; standard, stripe, github, shopify, slack or custom");
  }
  if (!draft.is_known) return;
  const bool is_custom = draft.config.scheme.name.empty();
  if (is_custom) {
    draft.config.scheme = custom_scheme(field, draft);
  } else {
    for (const std::string_view name : kCustomOnly) {
      if (has(field, name)) field.at(name).error("allowed only with provider: custom; remove it");
    }
  }
  if (has(field, "tolerance") && !draft.config.scheme.has_timestamp()) {
    field.at("tolerance").warn("has no effect: this provider does not sign a time");
  }
  if (has(field, "kinds") && draft.config.scheme.kind_header.empty()) {
    field.at("kinds").error("allowed only with provider: github or shopify; remove it");
  }
  if (draft.config.mode != WebhookMode::queue) {
    for (const std::string_view name : {"max_attempts", "backoff"}) {
      if (has(field, name)) field.at(name).warn("has no effect without mode: queue");
    }
  }
  if (draft.config.backoff_min > draft.config.backoff_max) {
    field.at("backoff").error(fmt::format("min is {}, longer than max, which is {}",
                                          format_duration(draft.config.backoff_min),
                                          format_duration(draft.config.backoff_max)));
  }
  read_secrets(field, draft.config);
  out = std::move(draft.config);
}

void fit_webhook(const Field& route, const std::optional<Field>& defaults, RouteDraft& draft) {
  RouteConfig& config = draft.config;
  if (!config.webhook) return;
  check_conflicts(route);
  if (has(route, "mode") && config.mode == Mode::observe) {
    route.at("mode").error(
        "observe lets everything through, signed or not; it is not allowed with webhook");
  }
  if (has(route, "in_progress") && config.in_progress == InProgress::accept) {
    route.at("in_progress")
        .error("accept is not allowed with webhook; use mode: queue, which answers 202");
  }
  config.mode = Mode::enforce;
  config.methods = {"POST"};
  config.key = {};
  config.key.required = true;
  config.key.from = KeySource::pointer;
  config.key.pointer = config.webhook->scheme.id_pointer;
  config.scope = ScopeKind::operation;
  config.reauthorize.reset();
  // Deliveries with one id are one event.
  config.fingerprint = {};
  config.fingerprint.body = BodyFingerprint::none;
  config.fingerprint.query = false;
  const bool says_in_progress =
      has(route, "in_progress") || (defaults && has(*defaults, "in_progress"));
  if (!says_in_progress || config.in_progress == InProgress::accept) {
    config.in_progress = InProgress::wait;
  }
  if (!draft.has_ttl) config.operation.ttl = kDefaultTtl;
  check_ttl(route, draft);
  if (config.webhook->mode == WebhookMode::queue) check_queue(route, defaults, draft);
}

}  // namespace semel::config::reading
