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

std::string_view to_string(RecordState state) {
  switch (state) {
    case RecordState::queued:
      return "queued";
    case RecordState::in_progress:
      return "in_progress";
    case RecordState::completed:
      return "completed";
    case RecordState::released:
      return "released";
    case RecordState::unknown:
      return "unknown";
    case RecordState::tombstone:
      return "tombstone";
  }
  return "invalid";
}

Time due_at(const Record& record) {
  switch (record.state) {
    case RecordState::queued:
    case RecordState::in_progress:
      return record.lease_until;
    case RecordState::completed:
    case RecordState::released:
      return record.expires_at;
    case RecordState::unknown:
      return record.hold_until;
    case RecordState::tombstone:
      return record.tombstone_until;
  }
  return kNever;
}

}  // namespace semel
