#include "semel/driver/record.h"

#include "base/hex.h"
#include "base/names.h"

namespace semel {
namespace {

// No machine's name has a colon.
constexpr std::string_view kClientMark = "client:";

}  // namespace

Owner client_owner(std::string_view client, std::uint64_t run) {
  return {std::string(kClientMark) + std::string(client), run};
}

bool is_held_by_client(const Owner& owner) {
  return owner.node.starts_with(kClientMark);
}

namespace {

template <std::size_t N>
std::string to_hex(const std::array<std::uint8_t, N>& bytes) {
  return base::encode_hex({reinterpret_cast<const char*>(bytes.data()), N});
}

}  // namespace

std::string RecordId::hex() const {
  return to_hex(bytes);
}

std::string Token::hex() const {
  return to_hex(bytes);
}

constexpr auto kStateNames = base::names<RecordState::tombstone>({
    {RecordState::queued, "queued"},
    {RecordState::in_progress, "in_progress"},
    {RecordState::completed, "completed"},
    {RecordState::released, "released"},
    {RecordState::unknown, "unknown"},
    {RecordState::tombstone, "tombstone"},
});

std::string_view to_string(RecordState state) {
  return kStateNames[state];
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
