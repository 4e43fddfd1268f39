#include "client/uuid.h"

#include "base/hex.h"

namespace semel::client {
namespace {

std::string written(RandomBytes bytes, std::uint8_t version) {
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | (version << 4));
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string text = base::encode_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (const std::size_t at : {8, 13, 18, 23}) text.insert(at, "-");
  return text;
}

}  // namespace

std::string uuid_v4(RandomBytes random) {
  return written(random, 4);
}

std::string uuid_v7(RandomBytes random, Time now) {
  auto left = static_cast<std::uint64_t>(now.time_since_epoch().count());
  for (int i = 5; i >= 0; --i) {
    random[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(left);
    left >>= 8;
  }
  return written(random, 7);
}

}  // namespace semel::client
