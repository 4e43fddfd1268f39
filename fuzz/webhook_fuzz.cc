// Arbitrary bytes as the headers and the body of an event, for every provider. Checked besides
// memory safety: nobody who does not know the secret can sign.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "auth/webhook_signature.h"

namespace {

constexpr semel::Time kNow{std::chrono::seconds(1'700'000'000)};

std::string_view take_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const std::string_view name : semel::auth::webhook_providers()) {
    const semel::auth::WebhookScheme& scheme = *semel::auth::find_webhook_scheme(name);
    (void)semel::auth::parse_webhook_secret(scheme, input);
    std::string_view body = input;
    const std::string signature(take_line(body));
    const std::string timestamp(take_line(body));
    const std::string id(take_line(body));
    const auto headers = [&](std::string_view header) -> std::vector<std::string> {
      if (header == scheme.signature_header) return {signature};
      if (header == scheme.timestamp_header) return {timestamp};
      return {id};
    };
    const auto claim =
        semel::auth::read_webhook_claim(scheme, headers, std::chrono::days(30000), kNow);
    if (!claim) continue;
    using Kind = semel::auth::WebhookSecret::Kind;
    const std::vector<semel::auth::WebhookSecret> secrets = {
        {Kind::hmac_sha256, "0123456789abcdef0123456789abcdef"},
        {Kind::ed25519, std::string(32, '\x42')}};
    const auto pieces = [&](const std::function<void(std::string_view)>& take) { take(body); };
    if (semel::auth::is_signed(*claim, secrets, pieces)) std::abort();
  }
  (void)semel::auth::signed_content_error(input);
  return 0;
}
