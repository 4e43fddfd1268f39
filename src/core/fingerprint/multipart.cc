#include "core/fingerprint/multipart.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "core/fingerprint/media_type.h"

namespace semel::core {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
// Limits the white space that a transport may have added after a delimiter.
constexpr std::size_t kPaddingBytesMax = 64;
constexpr std::string_view kBoundary = "boundary";

bool is_field_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
}

bool counts(std::string_view name, bool form_data) {
  if (!form_data) return name != "content-length";
  return name == "content-disposition" || name == "content-type" ||
         name == "content-transfer-encoding";
}

std::string canonical_value(std::string_view name, std::string_view value,
                            std::uint8_t recipe_version) {
  if (name == "content-disposition" || name == "content-type") {
    return recipe_version < 2 ? canonical_parameters(value) : strict_parameters(value);
  }
  if (name == "content-transfer-encoding") return base::lower_case(value);
  return std::string(value);
}

bool is_line_ends(std::string_view text) {
  return text.find_first_not_of(kLineEnd) == std::string_view::npos;
}

bool can_delimit(std::string_view boundary) {
  return !boundary.empty() && boundary.size() <= kBoundaryBytesMax && !boundary.ends_with(' ') &&
         std::ranges::all_of(boundary, [](char c) { return c >= ' ' && c < 0x7f; });
}

// Accepts the characters of RFC 2046 except comma and space, at which some executors cut off a
// boundary.
bool is_safe_in_boundary(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("'()+_-./:=?").contains(c);
}

std::size_t count_mentions(std::string_view lower) {
  std::size_t count = 0;
  for (std::size_t at = lower.find(kBoundary); at != std::string_view::npos;
       at = lower.find(kBoundary, at + kBoundary.size())) {
    ++count;
  }
  return count;
}

// Some executors take the first "boundary" in the text, some the last, whatever name or value it is
// part of. Browsers put one into the boundary itself (----WebKitFormBoundary…): it misleads nobody
// if it comes after a name in the spelling that executors look for, and no "=" makes it look like a
// name.
bool names_one_boundary(std::string_view content_type, std::string_view boundary) {
  const std::string lower = base::lower_case(content_type);
  const std::size_t mentions = count_mentions(lower);
  if (mentions == 1) return true;
  return content_type.find(kBoundary) == lower.find(kBoundary) && !boundary.contains('=') &&
         mentions == 1 + count_mentions(base::lower_case(boundary));
}

// Returns true if every executor finds this boundary in the Content-Type. Only some undo escapes.
bool is_read_one_way(std::string_view content_type, std::string_view boundary) {
  return std::ranges::all_of(boundary, is_safe_in_boundary) && !content_type.contains('\\') &&
         names_one_boundary(content_type, boundary);
}

}  // namespace

// The first delimiter may be at the very beginning, as if a line had ended there.
MultipartDigest::MultipartDigest(std::string_view content_type, std::uint8_t recipe_version)
    : recipe_version_(recipe_version), pending_(kLineEnd) {
  const std::string essence = parse_media_type(content_type).essence;
  form_data_ = essence == "multipart/form-data";
  const auto boundary = media_type_parameter(content_type, kBoundary);
  if (!essence.starts_with("multipart/") || !boundary || !can_delimit(*boundary) ||
      (recipe_version_ >= 2 && !is_read_one_way(content_type, *boundary))) {
    state_ = State::malformed;
    return;
  }
  delimiter_ = "\r\n--" + *boundary;
}

void MultipartDigest::update(std::string_view piece) {
  if (state_ == State::malformed) return;
  pending_.append(piece);
  consume();
  pending_.erase(0, consumed_);
  consumed_ = 0;
  if (state_ == State::malformed) pending_ = {};
}

std::optional<base::Sha256Digest> MultipartDigest::finish() {
  if (state_ != State::epilogue || parts_ == 0) return std::nullopt;
  return whole_.finish();
}

void MultipartDigest::consume() {
  for (bool goes_on = true; goes_on;) {
    switch (state_) {
      case State::preamble:
      case State::body:
        goes_on = find_delimiter();
        break;
      case State::after_delimiter:
        goes_on = end_delimiter_line();
        break;
      case State::head:
        goes_on = read_head();
        break;
      case State::epilogue:
        goes_on = read_epilogue();
        break;
      case State::malformed:
        goes_on = false;
        break;
    }
  }
}

bool MultipartDigest::find_delimiter() {
  const std::string_view text = rest();
  const std::size_t found = text.find(delimiter_);
  const bool is_there = found != std::string_view::npos;
  // The end of the text so far may be the beginning of a delimiter.
  const std::size_t before =
      is_there ? found : text.size() - std::min(text.size(), delimiter_.size() - 1);
  if (state_ == State::body) {
    part_->update(text.substr(0, before));
  } else if (recipe_version_ >= 2 && !is_line_ends(text.substr(0, before))) {
    state_ = State::malformed;
    return true;
  }
  consumed_ += is_there ? before + delimiter_.size() : before;
  if (!is_there) return false;
  if (state_ == State::body) end_part();
  state_ = State::after_delimiter;
  return true;
}

bool MultipartDigest::end_delimiter_line() {
  const std::string_view text = rest();
  if (text.size() < 2) return false;
  if (constexpr std::string_view kClosing = "--"; text.starts_with(kClosing)) {
    consumed_ += kClosing.size();
    state_ = State::epilogue;
    return true;
  }
  const std::size_t padding = text.find_first_not_of(" \t");
  const std::size_t end = std::min(padding, text.size());
  if (end > kPaddingBytesMax) {
    state_ = State::malformed;
    return true;
  }
  if (text.size() - end < kLineEnd.size()) return false;
  if (text.substr(end, kLineEnd.size()) != kLineEnd) {
    state_ = State::malformed;
    return true;
  }
  // Leaves the line end unconsumed: a head without fields ends with it.
  consumed_ += end;
  state_ = State::head;
  return true;
}

// Some executors continue to read parts after the closing delimiter.
bool MultipartDigest::read_epilogue() {
  if (recipe_version_ >= 2 && !is_line_ends(rest())) state_ = State::malformed;
  consumed_ = pending_.size();
  return false;
}

bool MultipartDigest::read_head() {
  const std::string_view text = rest();
  const std::size_t end = text.substr(0, kPartHeadBytesMax + kHeadEnd.size()).find(kHeadEnd);
  if (std::min(end, text.size()) > kPartHeadBytesMax) {
    state_ = State::malformed;
    return true;
  }
  if (end == std::string_view::npos) return false;
  std::string_view head = text.substr(0, end);
  if (!head.empty()) head.remove_prefix(kLineEnd.size());
  if (!begin_part(head)) {
    state_ = State::malformed;
    return true;
  }
  consumed_ += end + kHeadEnd.size();
  state_ = State::body;
  return true;
}

bool MultipartDigest::begin_part(std::string_view head) {
  std::multimap<std::string, std::string> fields;  // keeps the order of a repeated field
  while (!head.empty()) {
    const std::size_t end = std::min(head.find(kLineEnd), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + kLineEnd.size(), head.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_field_name(line.substr(0, colon))) return false;
    if (line.find_first_of("\r\n") != std::string_view::npos) return false;
    std::string name = base::lower_case(line.substr(0, colon));
    if (!counts(name, form_data_)) continue;
    std::string value = canonical_value(name, base::trim(line.substr(colon + 1)), recipe_version_);
    fields.emplace(std::move(name), std::move(value));
  }
  whole_.update("p").update_u32(static_cast<std::uint32_t>(fields.size()));
  for (const auto& [name, value] : fields) whole_.update_sized(name).update_sized(value);
  part_.emplace();
  ++parts_;
  return true;
}

void MultipartDigest::end_part() {
  const base::Sha256Digest body = part_->finish();
  part_.reset();
  whole_.update({reinterpret_cast<const char*>(body.data()), body.size()});
}

}  // namespace semel::core
