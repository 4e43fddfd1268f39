#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace semel::base {

template <typename Enum>
struct Named {
  Enum value;
  std::string_view name;
};

// Returns whether the enum has a name for the value.
template <auto value>
consteval bool is_enumerator() {
  // Compilers write any other value as a cast: "value = (Colour)7".
  return !std::string_view(__PRETTY_FUNCTION__).contains("value = (");
}

// A text for each value of an enum whose values are consecutive.
template <typename Enum, std::size_t count>
class Names {
 public:
  consteval explicit Names(const Named<Enum> (&named)[count]) : first_(place_of(named[0].value)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (place_of(named[i].value) != first_ + i) throw "a value is missing or out of order";
      texts_[i] = named[i].name;
    }
  }
  // Returns "invalid" for a number that is none of the enum's values.
  constexpr std::string_view operator[](Enum value) const {
    const std::size_t at = place_of(value) - first_;
    return at < count ? texts_[at] : "invalid";
  }

 private:
  static constexpr std::size_t place_of(Enum value) { return static_cast<std::size_t>(value); }

  std::size_t first_;
  std::array<std::string_view, count> texts_{};
};

// Makes the table. Does not compile unless every value up to `last` is named, in order, and `last`
// is the enum's last.
template <auto last, std::size_t count>
consteval auto names(const Named<decltype(last)> (&named)[count]) {
  using Enum = decltype(last);
  static_assert(!is_enumerator<static_cast<Enum>(static_cast<std::size_t>(last) + 1)>());
  if (named[count - 1].value != last) throw "the last value has no name";
  return Names<Enum, count>(named);
}

}  // namespace semel::base
