#include "semel/derive.h"

#include "base/base64.h"
#include "base/sha256.h"

namespace semel {
namespace {

constexpr std::string_view kDomain = "semel derived key 1";

}  // namespace

std::string derive(const RecordId& record, std::string_view label) {
  base::Sha256 hash;
  hash.update_sized(kDomain)
      .update({reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()})
      .update_sized(label);
  const base::Sha256Digest digest = hash.finish();
  return base::encode_base64url({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string Claim::derive(std::string_view label) const {
  return semel::derive(record, label);
}

}  // namespace semel
