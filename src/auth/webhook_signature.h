#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semel/time.h"

// Who sent an event: the signatures of webhook providers. Pure; OpenSSL does the arithmetic, and
// compares in constant time.
//
// If something passes here that its provider did not sign, a stranger's event takes effect.
namespace semel {

enum class SignatureEncoding { hex, base64 };

// How a provider signs what it sends, and where it names the event. A provider is one entry of the
// table in webhook_signature.cc; `custom` is an entry that the configuration writes.
struct WebhookScheme {
  std::string name;
  std::string signature_header;
  char separator = '\0';  // between the elements of that header; 0: it is one signature
  std::string hmac_prefix = {};
  std::string ed25519_prefix = {};  // "": it has no such signatures
  SignatureEncoding encoding = SignatureEncoding::hex;
  // When it was signed: a header, or an element of the signature's own. Both "": nobody knows.
  std::string timestamp_header = {};
  std::string timestamp_prefix = {};
  // Template of the signed bytes: {id}, {timestamp}, {body}. Ids cannot contain its characters
  // next to {id}.
  std::string signed_content = "{body}";
  // Where the event's id is: in the first of these headers that is there, or in the JSON body.
  std::vector<std::string> id_headers = {};
  std::string id_pointer = {};
  bool needs_id = true;  // false: the body stands for an event without one
  // Where it says of what kind the event is, if the body does not. Never signed.
  std::string kind_header = {};
  bool secrets_are_base64 = false;
  // For how long an event may come again.
  Duration retried_for{0};

  bool has_timestamp() const { return !timestamp_header.empty() || !timestamp_prefix.empty(); }
  // False: whoever has one signed body can send it under any id.
  bool signs_id() const { return id_headers.empty() || signed_content.contains("{id}"); }
};

// nullptr: there is no such provider.
const WebhookScheme* find_webhook_scheme(std::string_view provider);
std::vector<std::string_view> webhook_providers();

// What is wrong with the template of what is signed: the end of a sentence. "": nothing.
std::string signed_content_error(std::string_view signed_content);

struct WebhookSecret {
  enum class Kind { hmac_sha256, ed25519 };
  Kind kind = Kind::hmac_sha256;
  std::string bytes;  // the key of the HMAC, or a public key
};
inline constexpr std::size_t kWebhookSecretsMax = 8;
// The error is the end of a sentence and never shows the secret.
std::expected<WebhookSecret, std::string> parse_webhook_secret(const WebhookScheme& scheme,
                                                               std::string_view text);

// The values of a header, one for each field of that name.
using HeaderValues = std::function<std::vector<std::string>(std::string_view name)>;

// What the headers of a delivery say. That it is true is shown by is_signed() alone.
struct WebhookClaim {
  std::vector<std::string> hmacs;
  std::vector<std::string> ed25519s;
  std::string before;  // of what is signed: what stands before and after the body
  std::string after;
  std::string id;  // from a header; empty: none, or it is in the body
};
// The error is a sentence for the sender. Here a timestamp that is off by more than `tolerance`,
// into the past or the future, is refused, and a signed id that has a character which ends it.
std::expected<WebhookClaim, std::string> read_webhook_claim(const WebhookScheme& scheme,
                                                            const HeaderValues& headers,
                                                            Duration tolerance, Time now);

// The body, given to `take` piece by piece; to be called any number of times.
using BodyPieces = std::function<void(const std::function<void(std::string_view)>& take)>;

// Whether one of the secrets made one of the signatures, over this very body. Throws what `body`
// throws.
bool is_signed(const WebhookClaim& claim, std::span<const WebhookSecret> secrets,
               const BodyPieces& body);

}  // namespace semel
