#include "gateway/handle.h"

#include <openssl/crypto.h>

#include <cstring>

#include "core/base64.h"
#include "core/sha256.h"

namespace semel {
namespace {

constexpr std::size_t kIdBytes = 32;
constexpr std::size_t kProofBytes = 16;

std::string_view view(const auto& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The record's own handle never leaves the store: what is given out depends on the tenant as well.
Token proof_of(const Record& record, std::string_view tenant) {
  Sha256 hash;
  hash.update_sized("semel status").update_sized(view(record.handle.bytes)).update_sized(tenant);
  const Sha256Digest digest = hash.finish();
  Token proof;
  std::memcpy(proof.bytes.data(), digest.data(), kProofBytes);
  return proof;
}

}  // namespace

std::string handle_text(const Record& record, std::string_view tenant) {
  const Token proof = proof_of(record, tenant);
  return encode_base64url(std::string(view(record.id.bytes)).append(view(proof.bytes)));
}

std::string status_path(const Record& record, std::string_view tenant) {
  return "/.semel/operations/" + handle_text(record, tenant);
}

std::optional<Handle> parse_handle(std::string_view text) {
  const auto bytes = decode_base64url(text);
  if (!bytes || bytes->size() != kIdBytes + kProofBytes) return std::nullopt;
  Handle handle;
  std::memcpy(handle.id.bytes.data(), bytes->data(), kIdBytes);
  std::memcpy(handle.proof.bytes.data(), bytes->data() + kIdBytes, kProofBytes);
  return handle;
}

bool fits(const Handle& handle, const Record& record, std::string_view tenant) {
  if (record.handle == Token{}) return false;
  const Token proof = proof_of(record, tenant);
  return CRYPTO_memcmp(proof.bytes.data(), handle.proof.bytes.data(), kProofBytes) == 0;
}

}  // namespace semel
