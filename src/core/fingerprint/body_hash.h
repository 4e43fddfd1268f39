#pragma once

#include <optional>
#include <string_view>

#include "base/sha256.h"
#include "core/fingerprint/multipart.h"
#include "semel/fingerprint.h"

namespace semel {

// The digest of a body under a recipe, fed piece by piece. json and form need the whole text and
// are hashed here as what they are if they do not parse: raw bytes. See body_digest().
//
// A multipart body without a MultipartDigest is raw bytes in version 1 of the recipe. Since version
// 2 it is SHA-256("u" sized(Content-Type) bytes): the boundary in it says what the bytes mean.
class BodyHash {
 public:
  // Of the recipe, what counts is how it reads a body and its version.
  BodyHash(const Recipe& recipe, std::string_view content_type);
  void update(std::string_view piece);
  Sha256Digest finish();

 private:
  BodyRecipe recipe_;
  std::optional<Sha256> bytes_;
  std::optional<MultipartDigest> multipart_;
};

// True if the recipe reads the body as a whole text and a body of this size may be one.
bool needs_whole_body(BodyRecipe recipe, std::uint64_t body_bytes);

// The same of a body that is in memory. What does not parse as its recipe says is raw bytes.
Sha256Digest body_digest(const Recipe& recipe, std::string_view content_type,
                         std::string_view body);

}  // namespace semel
