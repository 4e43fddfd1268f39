#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "core/fingerprint/multipart.h"
#include "semel/driver/fingerprint.h"

namespace semel::core {

// Computes the digest of a body under a recipe, fed piece by piece. json and form need the whole
// text: here they are hashed like bodies that do not parse, as raw bytes. See body_digest().
//
// A multipart body without a MultipartDigest counts as raw bytes in version 1 of the recipe. Since
// version 2 its digest is SHA-256("u" sized(Content-Type) bytes), because the boundary in the
// Content-Type determines what the bytes mean.
class BodyHash {
 public:
  // Only the kind of body and the version of the recipe matter.
  BodyHash(const Recipe& recipe, std::string_view content_type);
  void update(std::string_view piece);
  base::Sha256Digest finish();

 private:
  BodyRecipe recipe_;
  std::optional<base::Sha256> bytes_;
  std::optional<MultipartDigest> multipart_;
};

// Returns true if the recipe reads the body as a whole text and a body of this size may be one.
bool needs_whole_body(BodyRecipe recipe, std::uint64_t body_bytes);

// Returns the canonical form that the digest of such a body is made of. nullopt: it is made of the
// body's own bytes, or of its parts.
std::optional<std::string> canonical_body(const Recipe& recipe, std::string_view body);

// Computes the digest of a body in memory. A body that does not parse as its recipe says counts as
// raw bytes.
base::Sha256Digest body_digest(const Recipe& recipe, std::string_view content_type,
                               std::string_view body);

}  // namespace semel::core
