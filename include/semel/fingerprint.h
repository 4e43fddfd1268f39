#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// How the parts are read. Under version 1, which records of former releases have, requests are
// equal that executors may tell apart: by parameters of the media type other than its charset, by
// Content-Encoding, by how form fields of one name with different brackets are mixed, by
// backslashes in the parameters of a part.
inline constexpr std::uint8_t kRecipeVersion = 2;

// Which parts of a request count, and how. Kept in the record, so that a retry is compared under
// the recipe that made the record and not under a configuration edited since.
struct Recipe {
  BodyRecipe body = BodyRecipe::raw;
  bool query = true;
  std::vector<std::string> include;  // JSON Pointers; `*` stands for every element of an array
  std::vector<std::string> exclude;
  std::vector<std::string> headers;  // lower case
  std::string hash_key_id;           // the HMAC key it was made with; empty: plain SHA-256
  std::uint8_t version = kRecipeVersion;
  bool operator==(const Recipe&) const = default;
};

// A request as the fingerprint sees it. Views into memory that outlives the call.
struct RequestView {
  std::string_view method;
  std::string_view path;
  std::string_view query;         // without the '?'
  std::string_view content_type;  // as sent; empty: none
  std::string_view body;
  // The field's value (repeats joined by ", "), or nullopt. Called for Recipe::headers and for
  // "content-encoding".
  std::function<std::optional<std::string>(std::string_view lower_case_name)> header;
  // Where the body is not in memory: its digest under a recipe, in place of `body`. May be empty.
  std::function<std::array<std::uint8_t, 32>(const Recipe&)> body_digest = {};
};

// SHA-256 over the parts, and for each part the first 8 bytes of its own digest, in the order
// method, path, query, media type, Recipe::headers…, body: enough to say which one differs.
struct Fingerprint {
  std::array<std::uint8_t, 32> digest{};
  std::vector<std::uint64_t> parts;
  bool operator==(const Fingerprint&) const = default;
};

// The body recipe that `auto` picks for a Content-Type: application/json and +json: json;
// application/x-www-form-urlencoded: form; multipart/*: multipart; everything else: raw.
BodyRecipe pick_body_recipe(std::string_view content_type);

// Never fails: a body that does not parse as its recipe says is hashed as raw bytes.
Fingerprint make_fingerprint(const Recipe& recipe, const RequestView& request);

// The names of the parts that differ: "method", "path", "query", "media-type", "header x-name",
// "body". Both were made under `recipe`.
std::vector<std::string> differing_parts(const Recipe& recipe, const Fingerprint& a,
                                         const Fingerprint& b);

// nullopt if `pointer` is a JSON Pointer (RFC 6901) that a recipe may use; else what is wrong.
std::optional<std::string> pointer_error(std::string_view pointer);

}  // namespace semel
