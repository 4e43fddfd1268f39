// Arbitrary bytes as a body and as pointers. Input: an include pointer, a line feed, an exclude
// pointer, a line feed, the body. Checked besides memory safety: what is read as JSON is JSON to
// another strict parser too, and what must not matter does not.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/canonical_json.h"
#include "core/fingerprint/content_digest.h"
#include "core/fingerprint/form.h"
#include "core/fingerprint/multipart.h"
#include "semel/driver/fingerprint.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::string_view take_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

void check_against_other_parser(std::string_view text, bool accepted) {
  boost::json::parse_options options;
  options.max_depth = semel::core::kJsonDepthMax;
  boost::json::error_code error;
  boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
  const bool has_surrogate = text.contains("\\ud") || text.contains("\\uD");
  if (accepted) {
    require(!error || error == boost::json::error::exponent_overflow || has_surrogate);
  } else if (text.find('{') == std::string_view::npos) {  // no members, so none twice
    require(error.failed());
  }
}

void check_json(std::string_view text, const semel::core::JsonFilter& filter) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  while (text.starts_with(kByteOrderMark)) {
    const auto marked = semel::core::canonical_json(text);
    text.remove_prefix(kByteOrderMark.size());
    const bool is_marked_twice = text.starts_with(kByteOrderMark);
    require(marked.has_value() ==
            (!is_marked_twice && semel::core::canonical_json(text).has_value()));
  }
  const auto form = semel::core::canonical_json(text);
  check_against_other_parser(text, form.has_value());
  require(semel::core::canonical_json(" \n" + std::string(text) + "\t\r") == form);
  require(semel::core::canonical_json(text, filter).has_value() == form.has_value());
}

void check_form(std::string_view body) {
  const auto form = semel::core::canonical_form(body);
  require(semel::core::canonical_form("&" + std::string(body) + "&&") == form);
}

// How a body is cut on its way makes no difference, whatever it is.
void check_multipart(std::string_view body) {
  constexpr std::string_view kType = "multipart/form-data; boundary=b";
  semel::core::MultipartDigest whole(kType);
  whole.update(body);
  semel::core::MultipartDigest cut(kType);
  for (std::size_t at = 0; at < body.size(); at += 3) cut.update(body.substr(at, 3));
  require(whole.finish() == cut.finish());
}

void check_fingerprint(std::string_view include, std::string_view exclude, std::string_view body) {
  for (semel::BodyRecipe recipe :
       {semel::BodyRecipe::json, semel::BodyRecipe::form, semel::BodyRecipe::raw,
        semel::BodyRecipe::none, semel::BodyRecipe::multipart, semel::BodyRecipe::digest}) {
    semel::Recipe whole;
    whole.body = recipe;
    whole.headers = {"x"};
    if (!include.empty()) whole.include.emplace_back(include);
    if (!exclude.empty()) whole.exclude.emplace_back(exclude);
    semel::RequestView request;
    request.method = "POST";
    request.path = exclude;
    request.content_type = include;
    request.body = body;
    const semel::Fingerprint fingerprint = semel::make_fingerprint(whole, request);
    require(semel::make_fingerprint(whole, request) == fingerprint);
    require(semel::differing_parts(whole, fingerprint, fingerprint).empty());
    semel::pick_body_recipe(include);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view include = take_line(rest);
  const std::string_view exclude = take_line(rest);
  semel::core::JsonFilter filter;
  const auto add = [](std::string_view text, std::vector<semel::core::JsonPointer>& to) {
    const auto pointer = semel::core::JsonPointer::parse(text);
    require(pointer.has_value() == semel::check_pointer(text).has_value());
    if (pointer) to.push_back(*pointer);
  };
  add(include, filter.include);
  add(exclude, filter.exclude);
  check_json(rest, filter);
  check_form(rest);
  check_multipart(rest);
  (void)semel::core::ContentDigest::parse(include);
  check_fingerprint(include, exclude, rest);
  return 0;
}
