#include "base/sha256.h"

#include <stdexcept>
#include <utility>
#include <vector>

namespace semel::base {
namespace {

// Fetched once: looking up an algorithm by name costs more than hashing a short string. Never
// freed: other threads may still hash while the process exits.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return fetched;
}

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

constexpr std::size_t kIdleContextsMax = 8;

}  // namespace

struct Sha256::IdleContexts {
  std::vector<Context> contexts;
};

Sha256::IdleContexts& Sha256::idle_contexts() {
  thread_local IdleContexts idle;
  return idle;
}

Sha256::Sha256() {
  std::vector<Context>& idle = idle_contexts().contexts;
  if (idle.empty()) {
    context_.reset(EVP_MD_CTX_new());
  } else {
    context_ = std::move(idle.back());
    idle.pop_back();
  }
  require(context_ && EVP_DigestInit_ex2(context_.get(), algorithm(), nullptr) == 1);
}

Sha256::~Sha256() {
  std::vector<Context>& idle = idle_contexts().contexts;
  if (idle.capacity() == 0) idle.reserve(kIdleContextsMax);
  if (idle.size() < kIdleContextsMax) idle.push_back(std::move(context_));
}

Sha256& Sha256::update(std::string_view bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  return *this;
}

Sha256& Sha256::update_sized(std::string_view bytes) {
  return update_u32(static_cast<std::uint32_t>(bytes.size())).update(bytes);
}

Sha256& Sha256::update_u32(std::uint32_t number) {
  const char bytes[] = {static_cast<char>(number), static_cast<char>(number >> 8),
                        static_cast<char>(number >> 16), static_cast<char>(number >> 24)};
  return update({bytes, sizeof bytes});
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest;
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1 &&
          length == digest.size());
  return digest;
}

Sha256Digest sha256(std::string_view bytes) {
  return Sha256().update(bytes).finish();
}

std::uint64_t first_8_bytes(const Sha256Digest& digest) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof out; ++i) out |= std::uint64_t{digest[i]} << (8 * i);
  return out;
}

}  // namespace semel::base
