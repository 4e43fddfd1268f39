#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel::core {

// One step of a JSON Pointer. The value it is applied to decides whether it names a member or an
// element.
struct PointerSegment {
  std::string name;                  // unescaped
  std::optional<std::size_t> index;  // set if the name can be the index of an array element
  bool every = false;                // the name is `*`: every element of an array

  bool matches_member(std::string_view member) const { return name == member; }
  bool matches_element(std::size_t element) const { return every || index == element; }
};

// RFC 6901, plus `*` for every element of an array.
struct JsonPointer {
  std::vector<PointerSegment> segments;  // at least one

  // The error is a sentence. Refuses the empty pointer, which means the whole body: no
  // configuration wants to include everything or exclude everything.
  static std::expected<JsonPointer, std::string> parse(std::string_view text);
};

}  // namespace semel::core
