#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/load_config.h"
#include "core/json_text.h"
#include "stores/embedded/check.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

struct StoreOptions {
  std::string file;
  std::string path;
  bool as_json = false;
};

// Returns the folder of the store, or the exit code.
std::expected<std::string, int> folder_of(const StoreOptions& options) {
  if (options.file.empty() == options.path.empty()) {
    return std::unexpected(
        complain("say which store: a configuration FILE, or --path FOLDER", kExitUsage));
  }
  if (!options.path.empty()) return options.path;
  const auto config = load_config(options.file);
  if (!config) return std::unexpected(kExitUsage);
  if (config->store.kind != stores::StoreKind::embedded) {
    return std::unexpected(complain(
        options.file + " has no store of kind embedded; others are looked after where they are",
        kExitUsage));
  }
  return config->store.path;
}

std::expected<stores::StoreReport, int> examine(const std::string& folder) {
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  std::function<void(std::uint64_t)> progress;
  if (shows_progress) {
    progress = [](std::uint64_t records) { fmt::print(stderr, "\r{} records read", records); };
  }
  auto report = stores::check_embedded_store(folder, progress);
  if (shows_progress) fmt::print(stderr, "\r\x1b[K");
  if (!report) return std::unexpected(complain(report.error(), kExitFailed));
  return *std::move(report);
}

json::object json_of(const std::string& folder, const stores::StoreReport& report) {
  json::object records;
  for (const auto& [state, count] : report.records) records[state] = count;
  return {{"path", folder},
          {"format", report.format},
          {"records", std::move(records)},
          {"record_bytes", report.record_bytes},
          {"index_entries", report.index_entries},
          {"chunks", report.chunks},
          {"chunk_bytes", report.chunk_bytes},
          {"disk_bytes", report.disk_bytes}};
}

int print_stat(const StoreOptions& options) {
  const auto folder = folder_of(options);
  if (!folder) return folder.error();
  const auto report = examine(*folder);
  if (!report) return report.error();
  if (options.as_json) {
    std::puts(core::json_text(json_of(*folder, *report)).c_str());
    return kExitOk;
  }
  fmt::print("{:<16}{}\n{:<16}{}\n{:<16}{}, {} bytes\n", "path", *folder, "format", report->format,
             "records", report->records_total(), report->record_bytes);
  for (const auto& [state, count] : report->records) fmt::print("  {:<14}{}\n", state, count);
  fmt::print("{:<16}{}\n{:<16}{}, {} bytes\n{:<16}{} bytes\n", "index entries",
             report->index_entries, "chunks", report->chunks, report->chunk_bytes, "on disk",
             report->disk_bytes);
  return kExitOk;
}

int print_check(const StoreOptions& options) {
  const auto folder = folder_of(options);
  if (!folder) return folder.error();
  const auto report = examine(*folder);
  if (!report) return report.error();
  const bool is_sound = report->findings_total == 0;
  if (options.as_json) {
    json::object out = json_of(*folder, *report);
    out["sound"] = is_sound;
    out["findings"] = json::array(report->findings.begin(), report->findings.end());
    out["findings_total"] = report->findings_total;
    std::puts(core::json_text(out).c_str());
    return is_sound ? kExitOk : kExitFailed;
  }
  for (const std::string& finding : report->findings) std::puts(finding.c_str());
  fmt::print("{}: {} records, {} chunks, {}\n", *folder, report->records_total(), report->chunks,
             is_sound ? "all sound" : fmt::format("{} findings", report->findings_total));
  return is_sound ? kExitOk : kExitFailed;
}

CLI::App* add_store_command(CLI::App& group, Run& run, const char* name, const char* help,
                            int (*action)(const StoreOptions&)) {
  CLI::App* command = group.add_subcommand(name, help);
  auto options = std::make_shared<StoreOptions>();
  add_config_file(*command, options->file, "A configuration file with store: {kind: embedded}");
  command->add_option("--path", options->path, "The folder of the store; instead of --config")
      ->type_name("FOLDER");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->callback(
      [&run, options, action] { run = [options, action] { return action(*options); }; });
  return command;
}

}  // namespace

void add_store(CLI::App& app, Run& run) {
  CLI::App* group = app.add_subcommand("store", "Examine an embedded store that nobody has open");
  group->group(kGroupOperate);
  group->require_subcommand(1);
  add_store_command(*group, run, "stat", "Count what is in the store", print_stat);
  add_store_command(*group, run, "check",
                    "Read every record, its answer and the index, and name what is damaged; "
                    "changes nothing",
                    print_check)
      ->footer("Exit codes: 0 all sound, 1 damaged or not readable, 2 bad command line.");
}

}  // namespace semel::cli
