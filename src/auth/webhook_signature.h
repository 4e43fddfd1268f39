#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semel/time.h"

// Verifies who sent an event, by the signatures of webhook providers. Pure; OpenSSL does the
// arithmetic, and compares in constant time.
//
// If something passes here that its provider did not sign, a stranger's event takes effect.
namespace semel::auth {

enum class SignatureEncoding { hex, base64 };

// Describes how a provider signs what it sends, and where it names the event. Each provider is an
// entry of the table in webhook_signature.cc; `custom` is an entry from the configuration.
struct WebhookScheme {
  std::string name;
  std::string signature_header;
  char separator = '\0';  // between the elements of that header; 0: it holds one signature
  std::string hmac_prefix = {};
  std::string ed25519_prefix = {};  // "": the provider has no such signatures
  SignatureEncoding encoding = SignatureEncoding::hex;
  // Location of the time of signing: a header, or an element of the signature header. Both "":
  // unknown.
  std::string timestamp_header = {};
  std::string timestamp_prefix = {};
  // Template of the signed bytes: {id}, {timestamp}, {body}. Ids cannot contain its characters
  // next to {id}.
  std::string signed_content = "{body}";
  // Location of the event's id: the first of these headers that is present, or the JSON body.
  std::vector<std::string> id_headers = {};
  std::string id_pointer = {};
  bool needs_id = true;  // false: the body identifies an event without an id
  // Header that names the kind of event, if the body does not. Never signed.
  std::string kind_header = {};
  bool secrets_are_base64 = false;
  // How long the provider may repeat an event.
  Duration retried_for{0};

  bool has_timestamp() const { return !timestamp_header.empty() || !timestamp_prefix.empty(); }
  // False: anybody who has one signed body can send it under any id.
  bool signs_id() const { return id_headers.empty() || signed_content.contains("{id}"); }
};

// nullptr: there is no such provider.
const WebhookScheme* find_webhook_scheme(std::string_view provider);
std::vector<std::string_view> webhook_providers();

// Says what is wrong with the template of the signed content, as the end of a sentence. "":
// nothing.
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

// Returns the values of a header, one per field with that name.
using HeaderValues = std::function<std::vector<std::string>(std::string_view name)>;

// The claim in the headers of a delivery. Only is_signed() proves it.
struct WebhookClaim {
  std::vector<std::string> hmacs;
  std::vector<std::string> ed25519s;
  std::string before;  // the signed content before and after the body
  std::string after;
  std::string id;  // from a header; empty: none, or it is in the body
};
// Reads the claim. The error is a sentence for the sender. Refuses a timestamp that is off by more
// than `tolerance`, past or future, and a signed id that contains a character next to {id}.
std::expected<WebhookClaim, std::string> read_webhook_claim(const WebhookScheme& scheme,
                                                            const HeaderValues& headers,
                                                            Duration tolerance, Time now);

// Passes the body to `take` piece by piece; may be called any number of times.
using BodyPieces = std::function<void(const std::function<void(std::string_view)>& take)>;

// Returns true if one of the secrets made one of the signatures over exactly this body. Throws what
// `body` throws.
bool is_signed(const WebhookClaim& claim, std::span<const WebhookSecret> secrets,
               const BodyPieces& body);

}  // namespace semel::auth
