// If two requests that mean the same get different forms, an honest retry is refused. If two
// requests that mean different things get the same form, the second is answered with the first
// one's answer and never executed. That is worse: in doubt, this file gives up, and the bytes
// themselves are compared.
#include "core/fingerprint/canonical_json.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/sha256.h"
#include "base/varint.h"
#include "core/fingerprint/decimal.h"
#include "core/fingerprint/json_find.h"

namespace semel::core {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kFormBytesMax = 256;
// Longer texts get their own buffers, so that no thread keeps the memory of one large body.
constexpr std::size_t kReusedTextBytesMax = std::size_t{64} << 10;

std::string_view trim_end(std::string_view token) {
  const std::size_t last = token.find_last_not_of(" \t\r\n");
  return token.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

class Canonicalizer {
 public:
  std::optional<std::string> run(std::string_view text, const JsonFilter& filter, bool halves) {
    halves_ = halves;
    // Wrapped into an array, a scalar needs no rules of its own. simdjson reads beyond the end, so
    // a copy is needed anyway.
    padded_.assign("[").append(text).append("]");
    text_bytes_ = padded_.size();
    padded_.append(simdjson::SIMDJSON_PADDING, '\0');

    if (!filter.include.empty()) {
      const Walk walk = walk_text(filter, true);
      if (walk == Walk::invalid) return {};
      if (walk == Walk::matched) return out_;
    }
    if (walk_text(filter, false) == Walk::invalid) return {};
    return out_;
  }

 private:
  // The result for a value. `matched`: the value or something in it is kept.
  enum class Walk { invalid, unmatched, matched };

  struct Watched {
    const JsonPointer* pointer;
    bool exclude;
  };

  // The position of a value relative to the pointers.
  struct Place {
    std::size_t depth = 0;
    std::size_t watched_begin = 0;  // the pointers that lead further down from here
    std::size_t watched_end = 0;
    bool included = false;  // by a pointer to this value or to one around it
    bool excluded = false;
  };

  struct Member {
    std::string_view name;
    std::uint32_t begin;  // in out_; an empty range: filtered
    std::uint32_t end;
  };

  Walk walk_text(const JsonFilter& filter, bool with_include) {
    out_.clear();
    members_.clear();
    kept_.clear();
    watched_.clear();
    Place root{.included = !with_include};
    if (with_include) {
      for (const JsonPointer& pointer : filter.include) watched_.push_back({&pointer, false});
    }
    for (const JsonPointer& pointer : filter.exclude) watched_.push_back({&pointer, true});
    root.watched_end = watched_.size();

    ondemand::document document;
    ondemand::array wrapper;
    if (parser_.iterate(padded_.data(), text_bytes_, padded_.size()).get(document) ||
        document.get_array().get(wrapper)) {
      return Walk::invalid;
    }
    Walk walk = Walk::invalid;
    std::size_t texts = 0;
    for (auto element : wrapper) {
      ondemand::value value;
      if (++texts > 1 || element.get(value)) return Walk::invalid;
      walk = walk_value(value, root);
      if (walk == Walk::invalid) return walk;
    }
    const bool at_end = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return at_end ? walk : Walk::invalid;
  }

  // Appends the form of the value. Parts of it may be dropped or shortened later.
  Walk walk_value(ondemand::value& value, const Place& place) {
    ondemand::json_type type;
    if (value.type().get(type)) return Walk::invalid;
    switch (type) {
      case ondemand::json_type::array:
        return walk_array(value, place);
      case ondemand::json_type::object:
        return walk_object(value, place);
      case ondemand::json_type::string: {
        const char* const quote = value.raw_json_token().data();
        std::string_view string;
        if (value.get_string().get(string)) {
          if (!keep_with_halves(quote + 1)) return Walk::invalid;
          string = kept_.back();
        }
        out_.push_back('"');
        base::append_sized(string, out_);
        break;
      }
      default:
        if (!append_token(trim_end(value.raw_json_token()))) return Walk::invalid;
    }
    return place.included ? Walk::matched : Walk::unmatched;
  }

  Walk walk_array(ondemand::value& value, const Place& place) {
    ondemand::array array;
    if (place.depth >= kJsonDepthMax || value.get_array().get(array)) return Walk::invalid;
    const std::size_t begin = out_.size();
    bool matched = place.included;
    std::size_t index = 0;
    std::size_t gap = 0;
    out_.push_back('[');
    for (auto element : array) {
      ondemand::value child;
      if (element.get(child)) return Walk::invalid;
      const Place child_place = step(
          place, [&](const PointerSegment& segment) { return segment.matches_element(index); });
      const std::size_t child_begin = out_.size();
      if (gap > 0) {
        out_.push_back('>');
        base::append_varint(gap, out_);
      }
      const Walk walk = walk_value(child, child_place);
      if (walk == Walk::invalid) return walk;
      matched |= walk == Walk::matched;
      ++index;
      gap = keep_or_drop(walk, child_place, child_begin) ? 0 : gap + 1;
    }
    out_.push_back(']');
    shorten(begin);
    return matched ? Walk::matched : Walk::unmatched;
  }

  Walk walk_object(ondemand::value& value, const Place& place) {
    ondemand::object object;
    if (place.depth >= kJsonDepthMax || value.get_object().get(object)) return Walk::invalid;
    const std::size_t begin = out_.size();
    const std::size_t members_begin = members_.size();
    bool matched = place.included;
    out_.push_back('{');
    for (auto field : object) {
      ondemand::raw_json_string raw;
      std::string_view name;
      ondemand::value child;
      if (field.key().get(raw)) return Walk::invalid;
      if (field.unescaped_key().get(name)) {
        if (!keep_with_halves(raw.raw())) return Walk::invalid;
        name = kept_.back();
      }
      if (field.value().get(child)) return Walk::invalid;
      const Place child_place =
          step(place, [&](const PointerSegment& segment) { return segment.matches_member(name); });
      const std::size_t child_begin = out_.size();
      out_.push_back('k');
      base::append_sized(name, out_);
      const Walk walk = walk_value(child, child_place);
      if (walk == Walk::invalid) return walk;
      matched |= walk == Walk::matched;
      keep_or_drop(walk, child_place, child_begin);
      members_.push_back(
          {name, static_cast<std::uint32_t>(child_begin), static_cast<std::uint32_t>(out_.size())});
    }
    if (!sort_members(members_begin, begin + 1)) return Walk::invalid;
    out_.push_back('}');
    shorten(begin);
    return matched ? Walk::matched : Walk::unmatched;
  }

  // Unescapes a string with half of a surrogate pair, which simdjson refuses. `begin` is after the
  // opening quote. Returns false if something else is wrong with the string.
  bool keep_with_halves(const char* begin) {
    if (!halves_) return false;
    const std::string_view rest(begin, padded_.data() + text_bytes_);
    std::size_t end = 0;
    while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
    auto text = unescape_json(rest.substr(0, end));
    if (!text) return false;
    kept_.push_back(*std::move(text));
    return true;
  }

  // Returns the place of a child of `parent`; `matches` says whether a segment refers to that
  // child.
  template <typename Matches>
  Place step(const Place& parent, Matches matches) {
    Place child{
        .depth = parent.depth + 1, .watched_begin = watched_.size(), .included = parent.included};
    for (std::size_t i = parent.watched_begin; i < parent.watched_end; ++i) {
      const Watched watched = watched_[i];
      const std::vector<PointerSegment>& segments = watched.pointer->segments;
      if (!matches(segments[parent.depth])) continue;
      if (segments.size() > child.depth) {
        watched_.push_back(watched);
      } else if (watched.exclude) {
        child.excluded = true;
      } else {
        child.included = true;
      }
    }
    child.watched_end = watched_.size();
    return child;
  }

  // Called after the child at `place`, whose form begins at `begin`. Returns true if it is kept.
  bool keep_or_drop(Walk walk, const Place& place, std::size_t begin) {
    watched_.resize(place.watched_begin);
    const bool keep = walk == Walk::matched && !place.excluded;
    if (!keep) out_.resize(begin);
    return keep;
  }

  // Sorts the members of the innermost object, whose forms begin at `forms_begin`, by name. Returns
  // false if two members have the same name, filtered or not.
  bool sort_members(std::size_t members_begin, std::size_t forms_begin) {
    const auto first = members_.begin() + static_cast<std::ptrdiff_t>(members_begin);
    if (!std::ranges::is_sorted(first, members_.end(), {}, &Member::name)) {
      std::ranges::sort(first, members_.end(), {}, &Member::name);
      sorted_.clear();
      for (auto member = first; member != members_.end(); ++member) {
        sorted_.append(out_, member->begin, member->end - member->begin);
      }
      out_.replace(forms_begin, std::string::npos, sorted_);
    }
    const bool unique =
        std::ranges::adjacent_find(first, members_.end(), {}, &Member::name) == members_.end();
    members_.resize(members_begin);
    return unique;
  }

  void shorten(std::size_t begin) {
    if (out_.size() - begin <= kFormBytesMax) return;
    const base::Sha256Digest digest = base::sha256(std::string_view(out_).substr(begin));
    out_.resize(begin);
    out_.push_back('#');
    out_.append(digest.begin(), digest.end());
  }

  // simdjson only finds the token; this checks it.
  bool append_token(std::string_view token) {
    if (token == "null" || token == "true" || token == "false") {
      out_.push_back(token[0]);
      return true;
    }
    return append_canonical_number(token, out_);
  }

  ondemand::parser parser_;
  std::string padded_;
  std::size_t text_bytes_ = 0;
  std::string out_;
  std::string sorted_;
  std::vector<Member> members_;   // of all open objects, innermost last
  std::deque<std::string> kept_;  // strings that simdjson did not unescape
  std::vector<Watched> watched_;
  bool halves_ = true;
};

}  // namespace

std::optional<std::string> canonical_json(std::string_view text, const JsonFilter& filter,
                                          std::uint8_t recipe_version) {
  if (text.size() > kJsonTextBytesMax) return {};
  const bool is_first = recipe_version < 2;
  const bool has_mark = text.starts_with(kByteOrderMark);
  if (has_mark && is_first) return {};
  if (has_mark) text.remove_prefix(kByteOrderMark.size());
  std::optional<std::string> form;
  if (text.size() > kReusedTextBytesMax) {
    form = Canonicalizer().run(text, filter, !is_first);
  } else {
    thread_local Canonicalizer reused;
    form = reused.run(text, filter, !is_first);
  }
  if (form && has_mark) form->insert(0, "b");
  return form;
}

}  // namespace semel::core
