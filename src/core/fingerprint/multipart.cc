#include "core/fingerprint/multipart.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "core/fingerprint/media_type.h"

namespace semel {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
// White space that a transport may have put behind a delimiter.
constexpr std::size_t kPaddingBytesMax = 64;

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
  if (name == "content-transfer-encoding") return lower_case(value);
  return std::string(value);
}

}  // namespace

// The first delimiter may stand at the very beginning: as if a line had ended there.
MultipartDigest::MultipartDigest(std::string_view content_type, std::uint8_t recipe_version)
    : recipe_version_(recipe_version), pending_(kLineEnd) {
  const std::string essence = parse_media_type(content_type).essence;
  form_data_ = essence == "multipart/form-data";
  const auto boundary = media_type_parameter(content_type, "boundary");
  if (!essence.starts_with("multipart/") || !boundary || boundary->empty() ||
      boundary->size() > kBoundaryBytesMax || boundary->ends_with(' ') ||
      !std::ranges::all_of(*boundary, [](char c) { return c >= ' ' && c < 0x7f; })) {
    state_ = State::malformed;
    return;
  }
  delimiter_ = "\r\n--" + *boundary;
}

void MultipartDigest::update(std::string_view piece) {
  if (state_ == State::malformed || state_ == State::epilogue) return;
  pending_.append(piece);
  consume();
  pending_.erase(0, consumed_);
  consumed_ = 0;
  if (state_ == State::malformed || state_ == State::epilogue) pending_ = {};
}

std::optional<Sha256Digest> MultipartDigest::finish() {
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
  // The end of what is here may be the beginning of a delimiter.
  const std::size_t before =
      is_there ? found : text.size() - std::min(text.size(), delimiter_.size() - 1);
  if (state_ == State::body) part_->update(text.substr(0, before));
  consumed_ += is_there ? before + delimiter_.size() : before;
  if (!is_there) return false;
  if (state_ == State::body) end_part();
  state_ = State::after_delimiter;
  return true;
}

bool MultipartDigest::end_delimiter_line() {
  const std::string_view text = rest();
  if (text.size() < 2) return false;
  if (text.starts_with("--")) {
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
  // The line's end stays: a head without fields ends with it.
  consumed_ += end;
  state_ = State::head;
  return true;
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
    std::string name = lower_case(line.substr(0, colon));
    if (!counts(name, form_data_)) continue;
    std::string value = canonical_value(name, trim(line.substr(colon + 1)), recipe_version_);
    fields.emplace(std::move(name), std::move(value));
  }
  whole_.update("p").update_u32(static_cast<std::uint32_t>(fields.size()));
  for (const auto& [name, value] : fields) whole_.update_sized(name).update_sized(value);
  part_.emplace();
  ++parts_;
  return true;
}

void MultipartDigest::end_part() {
  const Sha256Digest body = part_->finish();
  part_.reset();
  whole_.update({reinterpret_cast<const char*>(body.data()), body.size()});
}

}  // namespace semel
