#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/fingerprint/json_pointer.h"

namespace semel {

// Some writers put it before a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What lies at a JSON Pointer in a text.
namespace json_found {
struct Absent {};  // the text can be read, and has nothing there
struct Text {
  std::string text;  // unescaped; half of a surrogate pair as the three bytes it would have
};
struct Number {
  std::string_view digits;  // as written, a view into the text
};
struct Other {};  // an object, an array, true, false or null
// Nobody can tell: the text is not valid JSON, or two readers may find two different values.
struct Unreadable {
  std::string_view why;  // the end of a sentence: "it …."
};
}  // namespace json_found
using JsonFound = std::variant<json_found::Absent, json_found::Text, json_found::Number,
                               json_found::Other, json_found::Unreadable>;

// Reads the whole text by the grammar of RFC 8259 and converts nothing but the string it finds: a
// number of any size, half of a surrogate pair and any depth of nesting are no reason not to find
// what stands beside them. A byte order mark is passed over. Unreadable: the text breaks the
// grammar or is not UTF-8, or an object on the way to the place names the next step twice. `*` in
// the pointer is a name like any other and means no element. Memory: a bit per open bracket.
JsonFound find_in_json(std::string_view text, const JsonPointer& pointer);

// What stands between the quotes of a string, with its escapes undone as in json_found::Text.
// nullopt: one of them is malformed.
std::optional<std::string> unescape_json(std::string_view escaped);

}  // namespace semel
