#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Compares requests as the gateway does:
//
//   const Recipe recipe{.body = pick_body_recipe(request.content_type)};  // request: RequestView
//   const Fingerprint fingerprint = make_fingerprint(recipe, request);
//   if (fingerprint != first) report(differing_parts(recipe, first, fingerprint));
namespace semel {

// How a body is read before it is hashed. The numbers are part of the record format.
enum class BodyRecipe : std::uint8_t {
  json = 1,
  form = 2,
  raw = 3,
  none = 4,
  multipart = 5,
  digest = 6
};

// Version of the way the parts are read. Records of former releases have version 1. Under it,
// requests count as equal that executors may tell apart: by parameters of the media type other than
// its charset, by Content-Encoding, by how form fields of one name with different brackets are
// mixed, by backslashes in the parameters of a part.
inline constexpr std::uint8_t kRecipeVersion = 2;

// Selects the parts of a request that count, and how they are read. Stored in the record, so that a
// retry is compared under the recipe that made the record, not under a configuration edited since.
struct Recipe {
  BodyRecipe body = BodyRecipe::raw;
  bool query = true;
  std::vector<std::string> include;  // JSON Pointers; `*` stands for every element of an array
  std::vector<std::string> exclude;
  std::vector<std::string> headers;  // lower case
  std::string hash_key_id;           // HMAC key of the fingerprint; empty: plain SHA-256
  std::uint8_t version = kRecipeVersion;
  bool operator==(const Recipe&) const = default;
};

// A request to be fingerprinted. The memory it views must outlive the call.
struct RequestView {
  std::string_view method;
  std::string_view path;
  std::string_view query;         // without the '?'
  std::string_view content_type;  // as sent; empty: none
  std::string_view body;
  // Returns the field's value (repeats joined by ", "), or nullopt if there is none. Called for
  // Recipe::headers and for "content-encoding".
  std::function<std::optional<std::string>(std::string_view lower_case_name)> header;
  // Returns the body's digest under a recipe, in place of `body`, for a body that is not in memory.
  // May be empty.
  std::function<std::array<std::uint8_t, 32>(const Recipe&)> body_digest = {};
};

// The SHA-256 over the parts, and the first 8 bytes of the digest of each part, in the order
// method, path, query, media type, Recipe::headers…, body. That is enough to say which part
// differs.
struct Fingerprint {
  std::array<std::uint8_t, 32> digest{};
  std::vector<std::uint64_t> parts;
  bool operator==(const Fingerprint&) const = default;
};

// Returns the body recipe that `auto` picks for a Content-Type. application/json and +json: json;
// application/x-www-form-urlencoded: form; multipart/*: multipart; everything else: raw.
BodyRecipe pick_body_recipe(std::string_view content_type);

// Returns the fingerprint of the request under the recipe. Never fails: a body that does not parse
// as the recipe says is hashed as raw bytes.
Fingerprint make_fingerprint(const Recipe& recipe, const RequestView& request);

// Returns the names of the parts that differ: "method", "path", "query", "media-type",
// "header x-name", "body". Both fingerprints must have been made under `recipe`.
std::vector<std::string> differing_parts(const Recipe& recipe, const Fingerprint& a,
                                         const Fingerprint& b);

// Checks that `pointer` is a JSON Pointer (RFC 6901) that a recipe may use. The error is a sentence
// that says why not.
std::expected<void, std::string> check_pointer(std::string_view pointer);

}  // namespace semel
