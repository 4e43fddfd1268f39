// If this file leaves out a part that matters, a different request under a used key is answered
// with the old answer. If it includes a part that does not matter, an honest retry is refused.
#include "semel/driver/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "core/fingerprint/body_hash.h"
#include "core/fingerprint/json_pointer.h"
#include "core/fingerprint/media_type.h"

namespace semel {
namespace {

constexpr std::string_view kHeaderAbsent = "0";
constexpr std::string_view kHeaderPresent = "1";

constexpr std::size_t kPartsBeforeHeaders = 4;

// Caches the last result computed from a text, per thread and per use. Requests mostly share their
// method, their media type and often their path, so these need not be hashed every time.
template <typename Made>
class Remembered {
 public:
  template <typename Make>
  Made of(std::string_view text, Make make) {
    if (known_ && text == text_) return made_;
    made_ = make(text);
    known_ = text.size() <= kTextBytesMax;
    if (known_) text_ = text;
    return made_;
  }

 private:
  static constexpr std::size_t kTextBytesMax = 256;
  bool known_ = false;
  std::string text_;
  Made made_{};
};
using LastDigest = Remembered<base::Sha256Digest>;

BodyRecipe recipe_for(std::string_view content_type) {
  const std::string essence = core::parse_media_type(content_type).essence;
  if (core::is_json(essence)) return BodyRecipe::json;
  if (essence == "application/x-www-form-urlencoded") return BodyRecipe::form;
  if (essence.starts_with("multipart/")) return BodyRecipe::multipart;
  return BodyRecipe::raw;
}

// The media type digest of version 1.
base::Sha256Digest media_type_digest(std::string_view content_type) {
  const core::MediaType type = core::parse_media_type(content_type);
  return base::Sha256().update_sized(type.essence).update_sized(type.charset).finish();
}

base::Sha256Digest whole_media_type_digest(std::string_view content_type,
                                           std::string_view codings) {
  return base::Sha256()
      .update_sized(core::canonical_media_type(content_type))
      .update_sized(codings)
      .finish();
}

base::Sha256Digest plain_media_type_digest(std::string_view content_type) {
  return whole_media_type_digest(content_type, {});
}

// Returns the content codings; empty: the body is as its media type says.
std::string codings_of(const RequestView& request) {
  if (!request.header) return {};
  return core::canonical_codings(request.header("content-encoding").value_or(""));
}

base::Sha256Digest header_digest(const std::optional<std::string>& value) {
  return value ? base::Sha256().update(kHeaderPresent).update(*value).finish()
               : base::sha256(kHeaderAbsent);
}

void update_list(base::Sha256& hash, const std::vector<std::string>& list) {
  hash.update_u32(static_cast<std::uint32_t>(list.size()));
  for (const std::string& entry : list) hash.update_sized(entry);
}

void update_recipe(base::Sha256& hash, const Recipe& recipe) {
  hash.update_u32(static_cast<std::uint32_t>(recipe.body)).update_u32(recipe.query ? 1 : 0);
  update_list(hash, recipe.include);
  update_list(hash, recipe.exclude);
  update_list(hash, recipe.headers);
}

std::string part_name(const Recipe& recipe, std::size_t part) {
  static constexpr std::string_view kNames[kPartsBeforeHeaders] = {"method", "path", "query",
                                                                   "media-type"};
  if (part < kPartsBeforeHeaders) return std::string(kNames[part]);
  const std::size_t header = part - kPartsBeforeHeaders;
  return header < recipe.headers.size() ? fmt::format("header {}", recipe.headers[header]) : "body";
}

}  // namespace

BodyRecipe pick_body_recipe(std::string_view content_type) {
  thread_local Remembered<BodyRecipe> last;
  return last.of(content_type, recipe_for);
}

// digest     = SHA-256(version recipe *part-digest), numbers and lengths as u32 little-endian
// media type = SHA-256(sized(essence) sized(charset))                         in version 1
//            | SHA-256(sized(canonical media type) sized(codings))            since version 2
Fingerprint make_fingerprint(const Recipe& recipe, const RequestView& request) {
  Fingerprint fingerprint;
  fingerprint.parts.reserve(kPartsBeforeHeaders + recipe.headers.size() + 1);
  base::Sha256 whole;
  whole.update_u32(recipe.version);
  update_recipe(whole, recipe);
  const auto add = [&](const base::Sha256Digest& part) {
    whole.update({reinterpret_cast<const char*>(part.data()), part.size()});
    fingerprint.parts.push_back(base::first_8_bytes(part));
  };

  thread_local LastDigest last_method, last_path, last_query, last_media_type, first_media_type;
  add(last_method.of(request.method, base::sha256));
  add(last_path.of(request.path, base::sha256));
  add(last_query.of(recipe.query ? request.query : std::string_view(), base::sha256));
  const bool is_first = recipe.version < 2;
  const std::string codings = is_first ? std::string() : codings_of(request);
  if (is_first) {
    add(first_media_type.of(request.content_type, media_type_digest));
  } else if (codings.empty()) {
    add(last_media_type.of(request.content_type, plain_media_type_digest));
  } else {
    add(whole_media_type_digest(request.content_type, codings));
  }
  for (const std::string& name : recipe.headers) {
    add(header_digest(request.header ? request.header(name) : std::nullopt));
  }
  const auto digest_under = [&](const Recipe& reading) {
    return request.body_digest ? request.body_digest(reading)
                               : core::body_digest(reading, request.content_type, request.body);
  };
  if (codings.empty() || recipe.body == BodyRecipe::none || recipe.body == BodyRecipe::digest) {
    add(digest_under(recipe));
  } else {  // only the bytes of an encoded body are known
    Recipe bytes;
    bytes.body = BodyRecipe::raw;
    add(digest_under(bytes));
  }
  fingerprint.digest = whole.finish();
  return fingerprint;
}

std::vector<std::string> differing_parts(const Recipe& recipe, const Fingerprint& a,
                                         const Fingerprint& b) {
  std::vector<std::string> names;
  const std::size_t parts = kPartsBeforeHeaders + recipe.headers.size() + 1;
  for (std::size_t part = 0; part < parts; ++part) {
    const bool in_both = part < a.parts.size() && part < b.parts.size();
    if (!in_both || a.parts[part] != b.parts[part]) names.push_back(part_name(recipe, part));
  }
  return names;
}

std::expected<void, std::string> check_pointer(std::string_view pointer) {
  const auto parsed = core::JsonPointer::parse(pointer);
  if (!parsed) return std::unexpected(parsed.error());
  return {};
}

}  // namespace semel
