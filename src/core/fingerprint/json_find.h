#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/fingerprint/json_pointer.h"

namespace semel::core {

// Some writers put it at the beginning of a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The results of looking up a JSON Pointer in a text.
namespace json_found {
struct Absent {};  // the text is readable and has nothing there
struct Text {
  std::string text;  // unescaped; half of a surrogate pair becomes the three bytes it would have
};
struct Number {
  std::string_view digits;  // as written, a view into the text
};
struct Other {};  // an object, an array, true, false or null
// The value is uncertain: the text is not valid JSON, or two readers may find two different values.
struct Unreadable {
  std::string_view why;  // the end of a sentence: "it …."
};
}  // namespace json_found
using JsonFound = std::variant<json_found::Absent, json_found::Text, json_found::Number,
                               json_found::Other, json_found::Unreadable>;

// Finds the value at `pointer`. Reads the whole text by the grammar of RFC 8259 and converts only
// the string it finds: a number of any size, half of a surrogate pair and any depth of nesting
// elsewhere in the text do no harm. Skips a byte order mark. Unreadable: the text breaks the
// grammar or is not UTF-8, or an object on the way names the next step twice. `*` in the pointer is
// an ordinary name and matches no element. Memory: one bit per open bracket.
JsonFound find_in_json(std::string_view text, const JsonPointer& pointer);

// Returns the text of the value at `pointer` as it is written, whatever kind of value it is: a view
// into the text. nullopt: absent or unreadable, as above.
std::optional<std::string_view> find_json_text(std::string_view text, const JsonPointer& pointer);

// Undoes the escapes of the text between the quotes of a string, as in json_found::Text. nullopt:
// an escape is malformed.
std::optional<std::string> unescape_json(std::string_view escaped);

}  // namespace semel::core
