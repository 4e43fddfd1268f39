#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "semel/time.h"

namespace semel::core {

// Reads the parts of an encoding. Never reads past the end: the first short read marks the whole
// input as bad.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(fixed(1)); }
  std::uint64_t fixed(int bytes) {
    if (!has(static_cast<std::size_t>(bytes))) return 0;
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(in_[i])) << (8 * i);
    }
    in_.remove_prefix(static_cast<std::size_t>(bytes));
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string text() {
    const std::uint64_t size = varint();
    if (!has(size)) return {};
    std::string value(in_.substr(0, size));
    in_.remove_prefix(size);
    return value;
  }
  Time time() { return Time(Duration(static_cast<std::int64_t>(fixed(8)))); }
  Duration duration() { return Duration(static_cast<std::int64_t>(fixed(8))); }
  template <std::size_t N>
  void raw(std::array<std::uint8_t, N>& bytes) {
    if (!has(N)) return;
    std::memcpy(bytes.data(), in_.data(), N);
    in_.remove_prefix(N);
  }
  // Reads the number of elements that follow. Each takes at least one byte, so a corrupt count
  // cannot ask for much memory.
  std::size_t count() {
    const std::uint64_t value = varint();
    return has(value) ? value : 0;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(count());
    for (auto& value : values) value = text();
    return values;
  }
  bool finished() const { return ok_ && in_.empty(); }

 private:
  bool has(std::uint64_t bytes) {
    if (!ok_ || in_.size() < bytes) ok_ = false;
    return ok_;
  }

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace semel::core
