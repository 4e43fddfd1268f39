// The promise: a store with damage in front of an acknowledged write is never opened as if that
// write had never happened. RocksDB's own modes do not keep it: kTolerateCorruptedTailRecords
// refuses a hole in the last write, which every power cut may leave; kPointInTimeRecovery drops
// everything behind a flipped bit silently, and each key dropped would be executed a second time.
//
// The log's format (RocksDB 7.8, no recycled logs, no compression):
//
//   log     = *block                     ; of 32 KiB, the last one may be shorter
//   block   = *record *6(%x00)           ; a record does not cross the end of its block
//   record  = checksum length type data  ; u32, u16, u8, little-endian; crc32c of type and data,
//                                        ; masked
//   type    = 1 (the whole write) | 2 (its first part) | 3 (a middle one) | 4 (its last one)
//   write   = sequence:u64 count:u32 ... ; count 0: RocksDB's own mark, nothing in it
#include "stores/embedded/wal.h"

#include <algorithm>
#include <boost/crc.hpp>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel::stores {
namespace {

constexpr std::size_t kBlockBytes = 32768;
constexpr std::size_t kHeaderBytes = 7;
constexpr std::size_t kWriteHeaderBytes = 12;

enum class Type : std::uint8_t { whole = 1, first = 2, middle = 3, last = 4 };

struct Fragment {
  Type type;
  std::string_view data;
  bool begins_write() const { return type == Type::whole || type == Type::first; }
};

std::uint32_t little_endian(std::string_view in) {
  std::uint32_t value = 0;
  for (std::size_t i = in.size(); i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(in[i]);
  return value;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const auto sum = static_cast<std::uint32_t>(crc.checksum());
  return (sum >> 15 | sum << 17) + 0xa282ead8U;
}

// Parses the fragment at the beginning of `in`; nullopt: there is no valid one.
std::optional<Fragment> parse(std::string_view in) {
  if (in.size() < kHeaderBytes) return std::nullopt;
  const std::size_t length = little_endian(in.substr(4, 2));
  const auto type = static_cast<std::uint8_t>(in[6]);
  if (type < 1 || type > 4 || length > in.size() - kHeaderBytes) return std::nullopt;
  if (masked_crc32c(in.substr(6, 1 + length)) != little_endian(in.substr(0, 4))) {
    return std::nullopt;
  }
  return Fragment{static_cast<Type>(type), in.substr(kHeaderBytes, length)};
}

bool is_empty_mark(const Fragment& fragment) {
  return fragment.type == Type::whole && fragment.data.size() >= kWriteHeaderBytes &&
         little_endian(fragment.data.substr(8, 4)) == 0;
}

// Returns whether a write that holds something begins at any offset of `in`.
bool has_write(std::string_view in) {
  for (; in.size() >= kHeaderBytes; in.remove_prefix(1)) {
    const auto fragment = parse(in);
    if (fragment && fragment->begins_write() && !is_empty_mark(*fragment)) return true;
  }
  return false;
}

// How far the logs have been read.
struct Walk {
  bool inside_write = false;  // a first part was seen, its last one not yet
  bool damaged = false;
};

// Continues through one log. Returns false if a write follows damage.
bool walk_log(const std::filesystem::path& path, Walk& walk) {
  std::ifstream log(path, std::ios::binary);
  if (!log) throw std::ios_base::failure("cannot read " + path.string());
  std::string block(kBlockBytes, '\0');
  while (log) {
    log.read(block.data(), kBlockBytes);
    const auto size = static_cast<std::size_t>(log.gcount());
    std::string_view rest(block.data(), size);
    while (!walk.damaged && rest.size() >= kHeaderBytes) {
      const auto fragment = parse(rest);
      if (!fragment || fragment->begins_write() == walk.inside_write) {
        walk.damaged = true;
      } else {
        walk.inside_write = fragment->type == Type::first || fragment->type == Type::middle;
        rest.remove_prefix(kHeaderBytes + fragment->data.size());
      }
    }
    if (walk.damaged && has_write(rest)) return false;
    const bool cut_in_header = size < kBlockBytes && !rest.empty();
    if (cut_in_header) walk.damaged = true;
  }
  if (log.bad()) throw std::ios_base::failure("cannot read " + path.string());
  if (walk.inside_write) walk.damaged = true;
  return true;
}

std::vector<std::filesystem::path> logs_in_order(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> logs;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (is_log_name(entry.path().filename().string())) logs.push_back(entry.path());
  }
  // RocksDB numbers its logs and pads the numbers with zeros to six digits.
  std::ranges::sort(logs, {}, [](const std::filesystem::path& log) {
    const std::string name = log.filename().string();
    return std::pair(name.size(), name);
  });
  return logs;
}

}  // namespace

bool is_log_name(std::string_view name) {
  if (!name.ends_with(".log")) return false;
  name.remove_suffix(std::string_view(".log").size());
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

WalDamage judge_wal(const std::filesystem::path& directory) {
  Walk walk;
  for (const auto& log : logs_in_order(directory)) {
    if (!walk_log(log, walk)) return WalDamage::inside;
  }
  return walk.damaged ? WalDamage::torn : WalDamage::none;
}

}  // namespace semel::stores
