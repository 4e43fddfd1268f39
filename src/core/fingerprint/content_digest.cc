#include "core/fingerprint/content_digest.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <stdexcept>

#include "base/base64.h"

namespace semel::core {
namespace {

constexpr std::size_t kSha256Bytes = 32;
constexpr std::size_t kSha512Bytes = 64;

void skip_space(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
}

bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
         c == '*';
}

struct Member {
  std::string_view name;
  std::string bytes;
};

// Takes one `name=:base64:` of the dictionary (RFC 8941) off the front. Parameters have no meaning
// here and are refused.
std::optional<Member> take_member(std::string_view& rest) {
  Member member;
  const auto name_end = std::ranges::find_if_not(rest, is_key_char);
  member.name = rest.substr(0, static_cast<std::size_t>(name_end - rest.begin()));
  rest.remove_prefix(member.name.size());
  if (member.name.empty() || !rest.starts_with("=:")) return std::nullopt;
  rest.remove_prefix(2);
  const std::size_t end = rest.find(':');
  if (end == std::string_view::npos) return std::nullopt;
  auto bytes = base::decode_base64(rest.substr(0, end));
  if (!bytes) return std::nullopt;
  member.bytes = std::move(*bytes);
  rest.remove_prefix(end + 1);
  return member;
}

}  // namespace

void ContentDigest::Algorithm::begin(const EVP_MD* type, std::string digest) {
  expected = std::move(digest);
  context.reset(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), type, nullptr) != 1) {
    throw std::runtime_error("OpenSSL cannot compute a digest");
  }
}

bool ContentDigest::Algorithm::agrees() {
  if (!context) return true;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(context.get(), digest, &length);
  return length == expected.size() && CRYPTO_memcmp(digest, expected.data(), length) == 0;
}

std::expected<std::optional<ContentDigest>, std::string> ContentDigest::parse(
    std::string_view field) {
  const auto malformed = std::unexpected(
      std::string("Content-Digest is not a list like sha-256=:base64: (RFC 9530)."));
  ContentDigest found;
  skip_space(field);
  while (!field.empty()) {
    auto member = take_member(field);
    if (!member) return malformed;
    if (member->name == "sha-256") {
      if (member->bytes.size() != kSha256Bytes) return malformed;
      found.sha256_.begin(EVP_sha256(), std::move(member->bytes));
    } else if (member->name == "sha-512") {
      if (member->bytes.size() != kSha512Bytes) return malformed;
      found.sha512_.begin(EVP_sha512(), std::move(member->bytes));
    }
    skip_space(field);
    if (field.empty()) break;
    if (field.front() != ',') return malformed;
    field.remove_prefix(1);
    skip_space(field);
    if (field.empty()) return malformed;
  }
  if (!found.sha256_.context && !found.sha512_.context) return std::nullopt;
  return found;
}

void ContentDigest::update(std::string_view piece) {
  for (Algorithm* algorithm : {&sha256_, &sha512_}) {
    if (algorithm->context) EVP_DigestUpdate(algorithm->context.get(), piece.data(), piece.size());
  }
}

bool ContentDigest::matches() {
  const bool first = sha256_.agrees();
  const bool second = sha512_.agrees();
  return first && second;
}

}  // namespace semel::core
