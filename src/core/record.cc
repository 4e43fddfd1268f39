#include "semel/record.h"

namespace semel {
namespace {

template <std::size_t N>
std::string to_hex(const std::array<std::uint8_t, N>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(2 * N, '0');
  for (std::size_t i = 0; i < N; ++i) {
    out[2 * i] = kDigits[bytes[i] >> 4];
    out[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return out;
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
