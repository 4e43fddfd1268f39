#include "semel/record.h"

#include "base/hex.h"

namespace semel {
namespace {

template <std::size_t N>
std::string to_hex(const std::array<std::uint8_t, N>& bytes) {
  return encode_hex({reinterpret_cast<const char*>(bytes.data()), N});
}

}  // namespace

std::string RecordId::hex() const {
  return to_hex(bytes);
}

std::string Token::hex() const {
  return to_hex(bytes);
}

std::string_view to_string(State state) {
  switch (state) {
    case State::queued:
      return "queued";
    case State::in_progress:
      return "in_progress";
    case State::completed:
      return "completed";
    case State::released:
      return "released";
    case State::unknown:
      return "unknown";
    case State::tombstone:
      return "tombstone";
  }
  return "invalid";
}

Time due_at(const Record& record) {
  switch (record.state) {
    case State::queued:
    case State::in_progress:
      return record.lease_until;
    case State::completed:
    case State::released:
      return record.expires_at;
    case State::unknown:
      return record.hold_until;
    case State::tombstone:
      return record.tombstone_until;
  }
  return kNever;
}

}  // namespace semel
