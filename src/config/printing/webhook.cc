#include "config/printing/webhook.h"

#include "config/printing/parts.h"
#include "config/printing/secrets.h"

namespace semel::config::printing {
namespace {

void print_custom_scheme(Yaml& out, const auth::WebhookScheme& scheme) {
  out.text("signature_header", scheme.signature_header);
  out.text("algorithm", "hmac-sha256");
  const bool is_hex = scheme.encoding == auth::SignatureEncoding::hex;
  out.text("encoding", is_hex ? "hex" : "base64");
  out.text("prefix", scheme.hmac_prefix);
  out.text_if_any("timestamp_header", scheme.timestamp_header);
  out.text("signed", scheme.signed_content);
  if (!scheme.id_headers.empty()) out.text("id_header", scheme.id_headers.front());
  out.text_if_any("id_pointer", scheme.id_pointer);
}

}  // namespace

void print_webhook(Yaml& out, const WebhookConfig& webhook) {
  out.mapping("webhook", [&] {
    out.text("provider", webhook.scheme.name);
    out.texts("secrets", std::vector(webhook.secrets.size(), std::string(kHidden)));
    if (webhook.scheme.has_timestamp()) out.duration("tolerance", webhook.tolerance);
    if (!webhook.scheme.kind_header.empty()) out.texts("kinds", webhook.kinds);
    const bool is_queue = webhook.mode == WebhookMode::queue;
    out.text("mode", is_queue ? "queue" : "direct");
    if (is_queue) {
      out.count("max_attempts", webhook.max_attempts);
      print_backoff(out, webhook.backoff_min, webhook.backoff_max);
    }
    if (auth::find_webhook_scheme(webhook.scheme.name) == nullptr) {
      print_custom_scheme(out, webhook.scheme);
    }
  });
}

}  // namespace semel::config::printing
