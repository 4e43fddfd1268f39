#include "core/fingerprint/body_hash.h"

#include "core/fingerprint/canonical_json.h"
#include "core/fingerprint/form.h"
#include "core/fingerprint/json_pointer.h"

namespace semel::core {
namespace {

// Tags for the ways of reading a body, so that raw bytes cannot pose as a canonical form.
constexpr std::string_view kJsonBody = "j";
constexpr std::string_view kFormBody = "f";
constexpr std::string_view kRawBody = "r";
constexpr std::string_view kNoBody = "n";
constexpr std::string_view kMultipartBody = "m";
constexpr std::string_view kUndividedBody = "u";  // a multipart body without a canonical form
constexpr std::string_view kDigestBody = "d";

base::Sha256Digest tagged(std::string_view tag, std::string_view bytes) {
  return base::Sha256().update(tag).update(bytes).finish();
}

base::Sha256Digest tagged(std::string_view tag, const base::Sha256Digest& digest) {
  return tagged(tag, {reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::vector<JsonPointer> parse_pointers(const std::vector<std::string>& texts) {
  std::vector<JsonPointer> pointers;
  for (const std::string& text : texts) {
    // The configuration refuses malformed pointers; here they match nothing.
    if (auto pointer = JsonPointer::parse(text)) pointers.push_back(std::move(*pointer));
  }
  return pointers;
}

}  // namespace

BodyHash::BodyHash(const Recipe& recipe, std::string_view content_type) : recipe_(recipe.body) {
  if (recipe_ == BodyRecipe::none) return;
  bytes_.emplace();
  if (recipe_ == BodyRecipe::multipart) multipart_.emplace(content_type, recipe.version);
  if (recipe_ == BodyRecipe::multipart && recipe.version >= 2) {
    // Under another boundary the same bytes are other parts, and the digest of the media type
    // leaves out the boundary.
    bytes_->update(kUndividedBody).update_sized(content_type);
  } else if (recipe_ != BodyRecipe::digest) {
    // A Content-Digest of sha-256 covers the bytes alone, so no tag for BodyRecipe::digest.
    bytes_->update(kRawBody);
  }
}

void BodyHash::update(std::string_view piece) {
  if (bytes_) bytes_->update(piece);
  if (multipart_) multipart_->update(piece);
}

base::Sha256Digest BodyHash::finish() {
  if (!bytes_) return base::sha256(kNoBody);
  if (multipart_) {
    if (const auto parts = multipart_->finish()) return tagged(kMultipartBody, *parts);
  }
  const base::Sha256Digest bytes = bytes_->finish();
  return recipe_ == BodyRecipe::digest ? tagged(kDigestBody, bytes) : bytes;
}

bool needs_whole_body(BodyRecipe recipe, std::uint64_t body_bytes) {
  return (recipe == BodyRecipe::json || recipe == BodyRecipe::form) &&
         body_bytes <= kJsonTextBytesMax;
}

std::optional<std::string> canonical_body(const Recipe& recipe, std::string_view body) {
  if (!needs_whole_body(recipe.body, body.size())) return std::nullopt;
  if (recipe.body == BodyRecipe::form) return canonical_form(body, recipe.version);
  const JsonFilter filter{parse_pointers(recipe.include), parse_pointers(recipe.exclude)};
  return canonical_json(body, filter, recipe.version);
}

base::Sha256Digest body_digest(const Recipe& recipe, std::string_view content_type,
                               std::string_view body) {
  if (const auto form = canonical_body(recipe, body)) {
    return tagged(recipe.body == BodyRecipe::json ? kJsonBody : kFormBody, *form);
  }
  BodyHash hash(recipe, content_type);
  hash.update(body);
  return hash.finish();
}

}  // namespace semel::core
