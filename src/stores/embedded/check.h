#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

// Looks at an embedded store that no process has open, and changes nothing in it:
//
//   const auto report = check_embedded_store("/var/lib/semel");
//   if (!report) complain(report.error());  // it cannot be looked at
//   for (const std::string& finding : report->findings) print(finding);
namespace semel::stores {

inline constexpr std::size_t kFindingsKept = 100;

struct StoreReport {
  std::uint64_t format = 0;
  std::map<std::string, std::uint64_t> records;  // by state
  std::uint64_t record_bytes = 0;
  std::uint64_t index_entries = 0;
  std::uint64_t chunks = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t disk_bytes = 0;  // of all files
  // What is wrong, one sentence each. At most kFindingsKept are kept; all are counted.
  std::vector<std::string> findings;
  std::uint64_t findings_total = 0;

  std::uint64_t records_total() const;
};

// Reads every record, its entries in the index and its chunks, and the index and the chunks from
// their side. Calls `progress` now and then with the number of records read; may be empty. The
// error is a sentence for the operator: there is no store, another process has it open, or nothing
// can be read.
std::expected<StoreReport, std::string> check_embedded_store(
    const std::filesystem::path& path,
    const std::function<void(std::uint64_t records)>& progress = {});

}  // namespace semel::stores
