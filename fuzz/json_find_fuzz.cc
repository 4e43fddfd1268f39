// Arbitrary bytes as a pointer and as a body. Input: a JSON Pointer, a line feed, the body. Checked
// besides memory safety: what is readable is JSON to another strict parser too, that parser finds
// the same there, and what it can read is unreadable here only if a name stands twice.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/fingerprint/json_find.h"

namespace {

namespace json = boost::json;

void require(bool holds) {
  if (!holds) std::abort();
}

// Returns whether the other parser refuses the body although it is JSON.
bool is_too_much_for_it(const json::error_code& error, std::string_view body) {
  const bool has_surrogate = body.contains("\\ud") || body.contains("\\uD");
  return error == json::error::exponent_overflow || error == json::error::too_deep || has_surrogate;
}

// nullptr: the pointer leads nowhere.
const json::value* at(const json::value& root, const semel::core::JsonPointer& pointer) {
  const json::value* here = &root;
  for (const semel::core::PointerSegment& segment : pointer.segments) {
    if (const auto* object = here->if_object()) {
      here = object->if_contains(segment.name);
    } else if (const auto* array = here->if_array()) {
      here = segment.index ? array->if_contains(*segment.index) : nullptr;
    } else {
      return nullptr;
    }
    if (here == nullptr) return nullptr;
  }
  return here;
}

void compare(const semel::core::JsonFound& found, const json::value* expected) {
  using namespace semel::core::json_found;
  if (std::holds_alternative<Absent>(found)) return require(expected == nullptr);
  require(expected != nullptr);
  if (const auto* text = std::get_if<Text>(&found)) {
    const auto* string = expected->if_string();
    require(string != nullptr && std::string_view(*string) == text->text);
  } else if (std::holds_alternative<Number>(found)) {
    require(expected->is_number());
  } else {
    require(!expected->is_string() && !expected->is_number());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const auto pointer = semel::core::JsonPointer::parse(input.substr(0, end));
  std::string_view body = input.substr(std::min(end + 1, input.size()));
  if (!pointer) return 0;

  const semel::core::JsonFound found = semel::core::find_in_json(body, *pointer);
  const auto* unreadable = std::get_if<semel::core::json_found::Unreadable>(&found);
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  json::error_code error;
  const json::value root = json::parse(json::string_view(body.data(), body.size()), error);
  if (error) {
    require(unreadable != nullptr || is_too_much_for_it(error, body));
  } else if (unreadable != nullptr) {
    require(unreadable->why.contains("more than once"));
  } else {
    compare(found, at(root, *pointer));
  }
  return 0;
}
