#include "auth/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "base/base64.h"
#include "base/text.h"

namespace semel::auth {
namespace {

constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kKeyIdBytesMax = 64;

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

void require_cipher(bool done) {
  if (!done) throw std::runtime_error("OpenSSL does not support AES-256-GCM");
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool is_key_id(std::string_view id) {
  return !id.empty() && id.size() <= kKeyIdBytesMax && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

std::expected<SealingKeys, std::string> SealingKeys::parse(std::string_view text) {
  SealingKeys keys;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = base::trim_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const auto wrong = [&](const std::string& why) {
      return std::unexpected("line " + std::to_string(number) + ": " + why);
    };
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return wrong("must be id:key");
    SealingKey key;
    key.id = base::trim_line(line.substr(0, colon));
    if (!is_key_id(key.id)) {
      return wrong("the id must be 1 to 64 letters, digits, '-', '_' or '.'");
    }
    if (keys.find(key.id)) return wrong("the id '" + key.id + "' is listed twice");
    auto bytes = base::decode_base64(base::trim_line(line.substr(colon + 1)));
    if (!bytes || bytes->size() != key.bytes.size()) {
      return wrong("the key '" + key.id + "' is not 32 bytes in base64");
    }
    std::ranges::copy(*bytes, key.bytes.begin());
    OPENSSL_cleanse(bytes->data(), bytes->size());
    keys.keys_.push_back(std::move(key));
  }
  if (keys.keys_.empty()) return std::unexpected("it has no key");
  return keys;
}

const SealingKey* SealingKeys::find(std::string_view id) const {
  const auto found = std::ranges::find(keys_, id, &SealingKey::id);
  return found == keys_.end() ? nullptr : &*found;
}

std::string seal(const SealingKey& key, const SealNonce& nonce, std::string_view associated,
                 std::string_view plain) {
  std::string out(nonce.size() + plain.size() + kTagBytes, '\0');
  std::ranges::copy(nonce, out.begin());
  auto* at = reinterpret_cast<unsigned char*>(out.data()) + nonce.size();
  const Context context(EVP_CIPHER_CTX_new());
  int length = 0;
  require_cipher(context && EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr,
                                               key.bytes.data(), nonce.data()) == 1);
  require_cipher(EVP_EncryptUpdate(context.get(), nullptr, &length, bytes_of(associated),
                                   static_cast<int>(associated.size())) == 1);
  require_cipher(EVP_EncryptUpdate(context.get(), at, &length, bytes_of(plain),
                                   static_cast<int>(plain.size())) == 1);
  require_cipher(EVP_EncryptFinal_ex(context.get(), at + plain.size(), &length) == 1);
  require_cipher(
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, at + plain.size()) == 1);
  return out;
}

std::optional<std::string> unseal(const SealingKey& key, std::string_view associated,
                                  std::string_view sealed) {
  SealNonce nonce;
  if (sealed.size() < nonce.size() + kTagBytes) return std::nullopt;
  std::ranges::copy(sealed.substr(0, nonce.size()), nonce.begin());
  const std::string_view cipher =
      sealed.substr(nonce.size(), sealed.size() - nonce.size() - kTagBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  std::string plain(cipher.size(), '\0');
  auto* at = reinterpret_cast<unsigned char*>(plain.data());
  const Context context(EVP_CIPHER_CTX_new());
  int length = 0;
  require_cipher(context && EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr,
                                               key.bytes.data(), nonce.data()) == 1);
  require_cipher(EVP_DecryptUpdate(context.get(), nullptr, &length, bytes_of(associated),
                                   static_cast<int>(associated.size())) == 1);
  require_cipher(EVP_DecryptUpdate(context.get(), at, &length, bytes_of(cipher),
                                   static_cast<int>(cipher.size())) == 1);
  require_cipher(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) ==
                 1);
  if (EVP_DecryptFinal_ex(context.get(), at + cipher.size(), &length) != 1) return std::nullopt;
  return plain;
}

}  // namespace semel::auth
