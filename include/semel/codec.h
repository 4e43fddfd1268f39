#pragma once

#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// How an answer of a type is kept, as bytes:
//
//   template <> struct semel::Codec<Order> {
//     static std::string encode(const Order& order) { return order.to_json(); }
//     static Order decode(std::string kept) { return Order::from_json(kept); }
//   };
//
// There are codecs for std::string, bool, numbers, enumerations, std::optional and Protocol
// Buffers' messages. Change Operation::version when you change an encoding. C++17.

// Sources that include semel/driver/ as well, which has types of the same names, define this as
// nothing and name the namespace v1.
#ifndef SEMEL_INLINE
#define SEMEL_INLINE inline
#endif

namespace semel {
SEMEL_INLINE namespace v1 {
// Thrown where there is nothing to decide: the store cannot be opened, a name is empty. what() is
// a sentence.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T, class = void>
struct Codec;

template <>
struct Codec<std::string> {
  static std::string encode(std::string text) { return text; }
  static std::string decode(std::string kept) { return kept; }
};

template <>
struct Codec<bool> {
  static std::string encode(bool is) { return is ? "true" : "false"; }
  static bool decode(const std::string& kept) {
    if (kept != "true" && kept != "false") throw Error("the kept answer is neither true nor false");
    return kept == "true";
  }
};

template <class T>
struct Codec<T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>>> {
  static std::string encode(T number) {
    char digits[128];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number);
    return std::string(digits, end.ptr);
  }
  static T decode(const std::string& kept) {
    T number{};
    const char* const end = kept.data() + kept.size();
    const std::from_chars_result read = std::from_chars(kept.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) {
      throw Error("the kept answer is not a number of this type");
    }
    return number;
  }
};

template <class T>
struct Codec<T, std::enable_if_t<std::is_enum_v<T>>> {
  using Number = std::underlying_type_t<T>;
  static std::string encode(T value) { return Codec<Number>::encode(static_cast<Number>(value)); }
  static T decode(const std::string& kept) { return static_cast<T>(Codec<Number>::decode(kept)); }
};

template <class T>
struct Codec<std::optional<T>> {
  static std::string encode(const std::optional<T>& value) {
    return value ? '+' + Codec<T>::encode(*value) : std::string();
  }
  static std::optional<T> decode(const std::string& kept) {
    if (kept.empty()) return std::nullopt;
    return Codec<T>::decode(kept.substr(1));
  }
};

// Protocol Buffers.
template <class T>
struct Codec<T, std::void_t<decltype(std::declval<const T&>().SerializeAsString()),
                            decltype(std::declval<T&>().ParseFromString(std::string()))>> {
  static std::string encode(const T& message) { return message.SerializeAsString(); }
  static T decode(const std::string& kept) {
    T message;
    if (!message.ParseFromString(kept))
      throw Error("the kept answer is not a message of this type");
    return message;
  }
};

}  // namespace v1
}  // namespace semel
