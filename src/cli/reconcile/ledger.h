#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace semel::cli {

// One line of either side of a comparison.
struct Entry {
  enum class Side : std::uint8_t { effect, record };
  Side side = Side::effect;
  std::string identity;  // equal for those that belong together
  std::string text;      // to be shown; JSON
};

// Brings effects and their records together, however many there are: entries go to temporary files
// by a hash of their identity, and one file at a time is read into memory. 256 files of a few
// hundred MiB on disk need a few MiB of memory.
class Ledger {
 public:
  // Makes the files in TMPDIR, or /tmp, without names. The error is a sentence.
  static std::expected<Ledger, std::string> open();

  std::expected<void, std::string> add(const Entry& entry);
  // Calls `use` once per identity, with all entries that have it, in the order in which they came.
  // Nothing can be added afterwards.
  using UseGroup = std::function<void(const std::vector<Entry>& group)>;
  std::expected<void, std::string> for_each_group(const UseGroup& use);

 private:
  static constexpr std::size_t kFiles = 256;
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;

  std::array<File, kFiles> files_;
};

}  // namespace semel::cli
