#include "stores/embedded/repair/read_around.h"

#include <cstdint>
#include <optional>

#include "base/hex.h"
#include "stores/embedded/layout.h"

namespace semel::stores {
namespace {

constexpr std::size_t kPlaceBytes = sizeof(std::uint64_t);
// Keys this close together are not told apart: there are fewer than 2^40 records.
constexpr unsigned kStepBitsMin = 24;
constexpr unsigned kStepBitsMax = 63;
constexpr std::uint64_t kTrials = 64;

std::uint64_t place_of(std::string_view key) {
  std::string first(key.substr(0, kPlaceBytes));
  first.resize(kPlaceBytes, '\0');
  return *parse_number(first, kPlaceBytes);
}

std::string key_at(std::uint64_t place) {
  return number_bytes(place, kPlaceBytes);
}

// Returns whether reading can go on at this place: an entry is there, or the end.
bool can_read_at(const NewIterator& make, std::uint64_t place) {
  const auto entries = make();
  entries->Seek(key_at(place));
  return entries->status().ok();
}

// Returns a place behind `bad`, as close as possible, where reading can go on; nullopt: there is
// none.
std::optional<std::uint64_t> next_readable(const NewIterator& make, std::uint64_t bad) {
  std::uint64_t good = bad;
  for (unsigned bits = kStepBitsMin; bits <= kStepBitsMax; ++bits) {
    const std::uint64_t step = std::uint64_t{1} << bits;
    if (step > UINT64_MAX - bad) return std::nullopt;
    good = bad + step;
    if (can_read_at(make, good)) break;
    if (bits == kStepBitsMax) return std::nullopt;
  }
  std::uint64_t low = bad;
  while (good - low > (std::uint64_t{1} << kStepBitsMin)) {
    const std::uint64_t middle = low + (good - low) / 2;
    (can_read_at(make, middle) ? good : low) = middle;
  }
  return good;
}

}  // namespace

void read_around(const NewIterator& make,
                 const std::function<void(std::string_view key, std::string_view value)>& take,
                 const std::function<void(std::string)>& lost) {
  auto entries = make();
  std::uint64_t at = 0;
  for (entries->SeekToFirst();; entries->Seek(key_at(at))) {
    for (; entries->Valid(); entries->Next()) {
      at = place_of(entries->key().ToStringView());
      take(entries->key().ToStringView(), entries->value().ToStringView());
    }
    if (entries->status().ok()) return;
    const auto next = next_readable(make, at);
    lost("records from " + base::encode_hex(key_at(at)) + "… to " +
         (next ? base::encode_hex(key_at(*next)) + "…" : "the last one") +
         " cannot be read: " + entries->status().ToString());
    if (!next) return;
    at = *next;
    entries = make();
  }
}

bool is_readable(const NewIterator& make) {
  for (std::uint64_t i = 0; i < kTrials; ++i) {
    if (can_read_at(make, i * (UINT64_MAX / kTrials))) return true;
  }
  return false;
}

}  // namespace semel::stores
