#include "execution/answer/handle.h"

#include <openssl/crypto.h>

#include <cstring>

#include "base/base64.h"
#include "base/sha256.h"
#include "base/varint.h"
#include "config/own_paths.h"
#include "core/byte_reader.h"

namespace semel::execution {
namespace {

constexpr char kVersion = 2;  // version 1 had no version byte and named the record
constexpr std::size_t kProofBytes = 16;

std::string_view view(const auto& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The record's own handle never leaves the store: the proof given out depends on the tenant as
// well.
Token proof_of(const Record& record, std::string_view tenant) {
  base::Sha256 hash;
  hash.update_sized("semel status").update_sized(view(record.handle.bytes)).update_sized(tenant);
  const base::Sha256Digest digest = hash.finish();
  Token proof;
  std::memcpy(proof.bytes.data(), digest.data(), kProofBytes);
  return proof;
}

// Hides the key from those who see the name, in the log of a proxy for example, but do not know the
// tenant's credential. Applying it twice undoes it.
void mask(std::string_view tenant, const Token& proof, std::string& text) {
  base::Sha256Digest block{};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % block.size() == 0) {
      base::Sha256 hash;
      hash.update_sized("semel status mask").update_sized(tenant).update_sized(view(proof.bytes));
      block = hash.update_u32(static_cast<std::uint32_t>(i / block.size())).finish();
    }
    text[i] = static_cast<char>(static_cast<std::uint8_t>(text[i]) ^ block[i % block.size()]);
  }
}

}  // namespace

std::string handle_text(const Record& record, std::string_view tenant, std::string_view key) {
  const Token proof = proof_of(record, tenant);
  std::string named;
  base::append_sized(record.operation, named);
  base::append_sized(key, named);
  mask(tenant, proof, named);
  return base::encode_base64url(kVersion + std::string(view(proof.bytes)) + named);
}

std::string status_path(const Record& record, std::string_view tenant, std::string_view key) {
  return std::string(config::kOperationsPath) + handle_text(record, tenant, key);
}

std::optional<Handle> parse_handle(std::string_view text, std::string_view tenant) {
  const auto bytes = base::decode_base64url(text);
  if (!bytes || bytes->size() < 1 + kProofBytes || bytes->front() != kVersion) return std::nullopt;
  Handle handle;
  std::memcpy(handle.proof.bytes.data(), bytes->data() + 1, kProofBytes);
  std::string named = bytes->substr(1 + kProofBytes);
  mask(tenant, handle.proof, named);
  core::ByteReader in(named);
  handle.operation = in.text();
  handle.key = in.text();
  if (!in.finished()) return std::nullopt;
  return handle;
}

bool fits(const Handle& handle, const Record& record, std::string_view tenant) {
  if (record.handle == Token{}) return false;
  const Token proof = proof_of(record, tenant);
  return CRYPTO_memcmp(proof.bytes.data(), handle.proof.bytes.data(), kProofBytes) == 0;
}

}  // namespace semel::execution
