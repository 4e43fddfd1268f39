#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel {

// One step of a JSON Pointer. Whether it means a member or an element is decided by the value it
// meets.
struct PointerSegment {
  std::string name;                  // unescaped
  std::optional<std::size_t> index;  // set if the name can stand for an element of an array
  bool every = false;                // the name is `*`: every element of an array

  bool matches_member(std::string_view member) const { return name == member; }
  bool matches_element(std::size_t element) const { return every || index == element; }
};

// RFC 6901, plus `*` for every element of an array.
struct JsonPointer {
  std::vector<PointerSegment> segments;  // at least one

  // The error is a sentence. The empty pointer, which means the whole body, is refused: to include
  // all or exclude all is never what a configuration wants to say.
  static std::expected<JsonPointer, std::string> parse(std::string_view text);
};

}  // namespace semel
