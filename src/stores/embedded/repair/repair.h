#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "semel/time.h"

// Makes a sound store of what can still be read of a damaged one, in another folder. The damaged
// store is only read.
//
// A repair cannot promise what opening promises. A key whose record is lost is new: a retry of it
// is executed again. For records that are found, it promises that none becomes executable by an
// older state that came to light: queued and released records, those in progress, and those that
// have expired, become unknown.
namespace semel::stores {

inline constexpr std::size_t kLossesKept = 100;

struct RepairReport {
  std::map<std::string, std::uint64_t> records;  // that were saved, by the state they have now
  std::uint64_t made_unknown = 0;                // of them: their fate is in doubt
  std::uint64_t unreadable = 0;                  // of them: answered as expired for ever
  // Losses, one sentence each. At most kLossesKept are kept; all are counted.
  std::vector<std::string> losses;
  std::uint64_t losses_total = 0;

  std::uint64_t records_total() const;
};

enum class RepairDone { rehearse, keep };

// Reads the store in `from`, which no process may have open, and makes one in `to`, which must be
// empty or not exist; RepairDone::rehearse makes none, but reports what would be lost. Calls
// `progress` now and then with the number of records saved; may be empty. Blocks on the disk. The
// error is a sentence for the operator: there is no store, nothing is damaged, or nothing of it can
// be read.
std::expected<RepairReport, std::string> repair_embedded_store(
    const std::filesystem::path& from, const std::filesystem::path& to, RepairDone done, Time now,
    const std::function<void(std::uint64_t records)>& progress = {});

}  // namespace semel::stores
