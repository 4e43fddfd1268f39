#include "auth/webhook_signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/hmac.h"

namespace semel::auth {
namespace {

using std::chrono::hours;

constexpr std::size_t kSignaturesMax = 8;
constexpr std::size_t kEd25519KeyBytes = 32;
constexpr std::size_t kEd25519SignatureBytes = 64;
constexpr std::size_t kStandardSecretBytesMin = 16;
constexpr std::size_t kTimestampDigitsMax = 12;

constexpr std::string_view kId = "{id}";
constexpr std::string_view kTimestamp = "{timestamp}";
constexpr std::string_view kBody = "{body}";

const std::vector<WebhookScheme>& schemes() {
  static const std::vector<WebhookScheme> kSchemes = {
      {.name = "standard",
       .signature_header = "webhook-signature",
       .separator = ' ',
       .hmac_prefix = "v1,",
       .ed25519_prefix = "v1a,",
       .encoding = SignatureEncoding::base64,
       .timestamp_header = "webhook-timestamp",
       .signed_content = "{id}.{timestamp}.{body}",
       .id_headers = {"webhook-id"},
       .secrets_are_base64 = true,
       .retried_for = hours(75)},
      {.name = "stripe",
       .signature_header = "Stripe-Signature",
       .separator = ',',
       .hmac_prefix = "v1=",
       .timestamp_prefix = "t=",
       .signed_content = "{timestamp}.{body}",
       .id_pointer = "/id",
       .retried_for = hours(72)},
      {.name = "github",
       .signature_header = "X-Hub-Signature-256",
       .hmac_prefix = "sha256=",
       .id_headers = {"X-GitHub-Delivery"},
       .needs_id = false,
       .kind_header = "X-GitHub-Event",
       .retried_for = hours(72)},
      {.name = "shopify",
       .signature_header = "X-Shopify-Hmac-Sha256",
       .encoding = SignatureEncoding::base64,
       .id_headers = {"X-Shopify-Event-Id", "X-Shopify-Webhook-Id"},
       .needs_id = false,
       .kind_header = "X-Shopify-Topic",
       .retried_for = hours(48)},
      {.name = "slack",
       .signature_header = "X-Slack-Signature",
       .hmac_prefix = "v0=",
       .timestamp_header = "X-Slack-Request-Timestamp",
       .signed_content = "v0:{timestamp}:{body}",
       .id_pointer = "/event_id",
       .needs_id = false,
       .retried_for = hours(2)},
  };
  return kSchemes;
}

std::optional<std::string> decode(std::string_view text, SignatureEncoding encoding) {
  return encoding == SignatureEncoding::hex ? base::decode_hex(text) : base::decode_base64(text);
}

// Leaves out empty elements, which mean nothing.
std::vector<std::string_view> elements(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = separator == '\0' ? text.size() : text.find(separator);
    std::string_view element = text.substr(0, end);
    while (element.starts_with(' ')) element.remove_prefix(1);
    while (element.ends_with(' ')) element.remove_suffix(1);
    if (!element.empty()) out.push_back(element);
    if (end >= text.size()) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string header_missing(std::string_view name) {
  return "The header " + std::string(name) + " is missing.";
}

// Returns the value of a header that must not be repeated; nullopt: it is absent.
std::expected<std::optional<std::string>, std::string> one(const HeaderValues& headers,
                                                           std::string_view name) {
  std::vector<std::string> values = headers(name);
  if (values.empty()) return std::nullopt;
  if (values.size() > 1) {
    return std::unexpected("The header " + std::string(name) + " was sent more than once.");
  }
  return std::move(values.front());
}

// "": the timestamp is within the tolerance.
std::string timestamp_error(std::string_view text, Duration tolerance, Time now) {
  std::int64_t seconds = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = failed == std::errc() && end == text.data() + text.size() &&
                         !text.starts_with('-') && text.size() <= kTimestampDigitsMax;
  if (!is_number) return "The timestamp is not a number of seconds.";
  const Time signed_at{std::chrono::seconds(seconds)};
  if (signed_at < now - tolerance) return "The timestamp is too old.";
  if (signed_at > now + tolerance) return "The timestamp is in the future.";
  return "";
}

void replace(std::string& text, std::string_view name, std::string_view value) {
  const std::size_t at = text.find(name);
  if (at != std::string::npos) text.replace(at, name.size(), value);
}

// Sets the text before and after the body. Fills the two parts separately, so that no value can
// bring in a placeholder.
void fill_signed_content(const WebhookScheme& scheme, std::string_view timestamp,
                         WebhookClaim& claim) {
  const auto fill = [&](std::string_view part) {
    std::string out;
    while (!part.empty()) {
      if (part.starts_with(kId)) {
        out += claim.id;
        part.remove_prefix(kId.size());
      } else if (part.starts_with(kTimestamp)) {
        out += timestamp;
        part.remove_prefix(kTimestamp.size());
      } else {
        out += part.front();
        part.remove_prefix(1);
      }
    }
    return out;
  };
  const std::string_view content = scheme.signed_content;
  const std::size_t body = content.find(kBody);
  claim.before = fill(content.substr(0, body));
  claim.after = fill(content.substr(body + kBody.size()));
}

// Returns the characters next to {id} in the signed content. An id that contains one of them could
// be a shorter id and a piece of the body, or the other way round, under the same signature.
std::string ends_of_id(std::string_view signed_content) {
  const std::size_t at = signed_content.find(kId);
  if (at == std::string_view::npos) return "";
  std::string ends;
  if (at > 0) ends += signed_content[at - 1];
  ends += signed_content.substr(at + kId.size(), 1);
  return ends;
}

// "": the signed content allows only one reading of the id.
std::string signed_id_error(const WebhookScheme& scheme, std::string_view id) {
  const bool ends_early =
      id.find_first_of(ends_of_id(scheme.signed_content)) != std::string_view::npos;
  if (!ends_early) return "";
  return "The header " + scheme.id_headers.front() +
         " has a character that ends the id in the signed content, so the signature would fit "
         "other ids too.";
}

// Reads the signatures of the header into `claim`, and returns the timestamp among them; "": there
// is none.
std::expected<std::string, std::string> read_signatures(const WebhookScheme& scheme,
                                                        std::string_view header,
                                                        WebhookClaim& claim) {
  std::string timestamp;
  for (const std::string_view element : elements(header, scheme.separator)) {
    if (claim.hmacs.size() + claim.ed25519s.size() >= kSignaturesMax) break;
    if (!scheme.timestamp_prefix.empty() && element.starts_with(scheme.timestamp_prefix)) {
      if (!timestamp.empty()) return std::unexpected("There are two timestamps.");
      timestamp = element.substr(scheme.timestamp_prefix.size());
    } else if (!scheme.ed25519_prefix.empty() && element.starts_with(scheme.ed25519_prefix)) {
      auto signature = decode(element.substr(scheme.ed25519_prefix.size()), scheme.encoding);
      if (signature && signature->size() == kEd25519SignatureBytes) {
        claim.ed25519s.push_back(*std::move(signature));
      }
    } else if (element.starts_with(scheme.hmac_prefix)) {
      auto signature = decode(element.substr(scheme.hmac_prefix.size()), scheme.encoding);
      if (signature && signature->size() == sizeof(base::Sha256Digest)) {
        claim.hmacs.push_back(*std::move(signature));
      }
    }
  }
  if (claim.hmacs.empty() && claim.ed25519s.empty()) {
    return std::unexpected("The header " + scheme.signature_header +
                           " has no signature of a supported kind.");
  }
  return timestamp;
}

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

bool has_hmac(const WebhookClaim& claim, const std::string& secret, const BodyPieces& body) {
  base::HmacSha256 hmac(secret);
  hmac.update(claim.before);
  body([&hmac](std::string_view piece) { hmac.update(piece); });
  const base::Sha256Digest digest = hmac.update(claim.after).finish();
  bool matches = false;
  for (const std::string& given : claim.hmacs) {
    matches |= CRYPTO_memcmp(given.data(), digest.data(), digest.size()) == 0;
  }
  return matches;
}

bool has_ed25519(const WebhookClaim& claim, const std::string& public_key,
                 const std::string& content) {
  const std::unique_ptr<EVP_PKEY, FreeKey> key(EVP_PKEY_new_raw_public_key(
      EVP_PKEY_ED25519, nullptr, base::unsigned_bytes(public_key), public_key.size()));
  if (!key) return false;
  for (const std::string& given : claim.ed25519s) {
    const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
    if (context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
        EVP_DigestVerify(context.get(), base::unsigned_bytes(given), given.size(),
                         base::unsigned_bytes(content), content.size()) == 1) {
      return true;
    }
  }
  return false;
}

}  // namespace

const WebhookScheme* find_webhook_scheme(std::string_view provider) {
  for (const WebhookScheme& scheme : schemes()) {
    if (scheme.name == provider) return &scheme;
  }
  return nullptr;
}

std::vector<std::string_view> webhook_providers() {
  std::vector<std::string_view> names;
  for (const WebhookScheme& scheme : schemes()) names.emplace_back(scheme.name);
  return names;
}

std::string signed_content_error(std::string_view signed_content) {
  std::string rest(signed_content);
  for (const std::string_view name : {kId, kTimestamp, kBody}) replace(rest, name, "");
  if (!signed_content.contains(kBody)) return "must contain {body}, or any body could be sent";
  if (rest.find_first_of("{}") != std::string::npos) {
    return "may contain {id}, {timestamp} and {body}, once each, and no other braces";
  }
  if (signed_content.contains("}{id}") || signed_content.contains("{id}{")) {
    return "has {id} right next to another placeholder, so one signature fits several ids; have "
           "the sender sign a character between them that no id contains, like {id}.{body}";
  }
  return "";
}

std::expected<WebhookSecret, std::string> parse_webhook_secret(const WebhookScheme& scheme,
                                                               std::string_view text) {
  constexpr std::string_view kSecretPrefix = "whsec_";
  constexpr std::string_view kPublicPrefix = "whpk_";
  if (text.empty()) return std::unexpected("is empty: anyone could sign with it");
  if (!scheme.secrets_are_base64) return WebhookSecret{.bytes = std::string(text)};
  const bool is_public = text.starts_with(kPublicPrefix);
  if (is_public) {
    text.remove_prefix(kPublicPrefix.size());
  } else if (text.starts_with(kSecretPrefix)) {
    text.remove_prefix(kSecretPrefix.size());
  }
  auto decoded = base::decode_base64(text);
  if (!decoded) {
    return std::unexpected("is not base64 after whsec_ (a secret) or whpk_ (a public key)");
  }
  if (is_public && decoded->size() != kEd25519KeyBytes) {
    return std::unexpected("is not an Ed25519 public key, which has 32 bytes");
  }
  if (!is_public && decoded->size() < kStandardSecretBytesMin) {
    return std::unexpected("is too short; a secret has at least 16 bytes");
  }
  return WebhookSecret{is_public ? WebhookSecret::Kind::ed25519 : WebhookSecret::Kind::hmac_sha256,
                       *std::move(decoded)};
}

std::expected<WebhookClaim, std::string> read_webhook_claim(const WebhookScheme& scheme,
                                                            const HeaderValues& headers,
                                                            Duration tolerance, Time now) {
  WebhookClaim claim;
  const auto signature = one(headers, scheme.signature_header);
  if (!signature) return std::unexpected(signature.error());
  if (!*signature) return std::unexpected(header_missing(scheme.signature_header));
  auto timestamp = read_signatures(scheme, **signature, claim);
  if (!timestamp) return std::unexpected(std::move(timestamp.error()));
  if (!scheme.timestamp_header.empty()) {
    auto sent = one(headers, scheme.timestamp_header);
    if (!sent) return std::unexpected(std::move(sent.error()));
    if (!*sent) return std::unexpected(header_missing(scheme.timestamp_header));
    timestamp = **std::move(sent);
  }
  if (scheme.has_timestamp()) {
    std::string wrong = timestamp_error(*timestamp, tolerance, now);
    if (!wrong.empty()) return std::unexpected(std::move(wrong));
  }
  for (const std::string& name : scheme.id_headers) {
    auto id = one(headers, name);
    if (!id) return std::unexpected(std::move(id.error()));
    if (*id && claim.id.empty()) claim.id = **std::move(id);
  }
  if (claim.id.empty() && scheme.signed_content.contains(kId)) {
    return std::unexpected(header_missing(scheme.id_headers.front()));
  }
  std::string wrong = signed_id_error(scheme, claim.id);
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  fill_signed_content(scheme, *timestamp, claim);
  return claim;
}

bool is_signed(const WebhookClaim& claim, std::span<const WebhookSecret> secrets,
               const BodyPieces& body) {
  std::optional<std::string> content;
  bool found = false;
  for (const WebhookSecret& secret : secrets) {
    if (secret.kind == WebhookSecret::Kind::hmac_sha256) {
      if (!claim.hmacs.empty()) found |= has_hmac(claim, secret.bytes, body);
      continue;
    }
    if (claim.ed25519s.empty()) continue;
    if (!content) {
      content = claim.before;
      body([&](std::string_view piece) { content->append(piece); });
      *content += claim.after;
    }
    found |= has_ed25519(claim, secret.bytes, *content);
  }
  return found;
}

}  // namespace semel::auth
