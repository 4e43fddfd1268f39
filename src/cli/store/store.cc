#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/load_config.h"
#include "core/json_text.h"
#include "engine/system_clock.h"
#include "stores/embedded/check.h"
#include "stores/embedded/repair/repair.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

struct StoreOptions {
  std::string file;
  std::string path;
  bool as_json = false;
  std::string to;  // repair
  bool accepts_loss = false;
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

// Calls `work` with a function that shows, on a terminal, how many records were read or saved.
template <typename Work>
auto with_progress(const char* done, Work work) {
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  std::function<void(std::uint64_t)> progress;
  if (shows_progress) {
    progress = [done](std::uint64_t records) {
      fmt::print(stderr, "\r{} records {}", records, done);
    };
  }
  auto result = work(progress);
  if (shows_progress) fmt::print(stderr, "\r\x1b[K");
  return result;
}

std::expected<stores::StoreReport, int> examine(const std::string& folder) {
  auto report = with_progress(
      "read", [&](const auto& progress) { return stores::check_embedded_store(folder, progress); });
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

void print_repair(const std::string& folder, const std::string& to, bool is_kept,
                  const stores::RepairReport& report) {
  for (const std::string& loss : report.losses) std::puts(loss.c_str());
  if (report.losses_total > report.losses.size()) {
    fmt::print("… and {} more\n", report.losses_total - report.losses.size());
  }
  fmt::print("{}: {} records {} saved\n", folder, report.records_total(),
             is_kept ? "were" : "can be");
  for (const auto& [state, count] : report.records) fmt::print("  {:<14}{}\n", state, count);
  fmt::print(
      "{} of them became unknown, because a later state may have been lost: decide about each.\n"
      "{} of them cannot be read: their keys are answered as expired, for ever.\n"
      "A key whose record is lost is new: a retry of it is executed again. How many keys are lost "
      "cannot\nbe known.\n",
      report.made_unknown, report.unreadable);
  if (is_kept) fmt::print("{}: made\n", to);
}

int repair(const StoreOptions& options) {
  const auto folder = folder_of(options);
  if (!folder) return folder.error();
  if (options.to.empty()) return complain("say where the repaired store goes: --to", kExitUsage);
  const bool is_kept = options.accepts_loss;
  const auto report = with_progress("saved", [&](const auto& progress) {
    return stores::repair_embedded_store(
        *folder, options.to, is_kept ? stores::RepairDone::keep : stores::RepairDone::rehearse,
        engine::SystemClock().now(), progress);
  });
  if (!report) return complain(report.error(), kExitFailed);
  if (options.as_json) {
    json::object records;
    for (const auto& [state, count] : report->records) records[state] = count;
    std::puts(core::json_text(json::object{{"path", *folder},
                                           {"to", options.to},
                                           {"made", is_kept},
                                           {"records", std::move(records)},
                                           {"made_unknown", report->made_unknown},
                                           {"unreadable", report->unreadable},
                                           {"losses", json::array(report->losses.begin(),
                                                                  report->losses.end())},
                                           {"losses_total", report->losses_total}})
                  .c_str());
  } else {
    print_repair(*folder, options.to, is_kept, *report);
  }
  if (is_kept) return kExitOk;
  return complain("nothing was made. If you accept this, repeat it with --accept-loss",
                  kExitFailed);
}

void add_store_options(CLI::App& command, StoreOptions& options) {
  add_config_file(command, options.file, "A configuration file with store: {kind: embedded}");
  command.add_option("--path", options.path, "The folder of the store; instead of --config")
      ->type_name("FOLDER");
  command.add_flag("--json", options.as_json, "Print JSON");
}

CLI::App* add_store_command(CLI::App& group, Run& run, const char* name, const char* help,
                            int (*action)(const StoreOptions&)) {
  CLI::App* command = group.add_subcommand(name, help);
  auto options = std::make_shared<StoreOptions>();
  add_store_options(*command, *options);
  command->callback(
      [&run, options, action] { run = [options, action] { return action(*options); }; });
  return command;
}

void add_store_repair(CLI::App& group, Run& run) {
  CLI::App* command =
      group.add_subcommand("repair", "Save what can be read of a damaged store into a new one");
  auto options = std::make_shared<StoreOptions>();
  add_store_options(*command, *options);
  command->add_option("--to", options->to, "The folder to make; must be empty or not exist")
      ->type_name("FOLDER");
  command->add_flag("--accept-loss", options->accepts_loss,
                    "Make the new store, although keys may have been lost");
  command->footer(
      "Never changes the damaged store. Without --accept-loss it makes nothing, and says what "
      "would be lost.\nA key whose record is lost is new: a retry of it is executed again. "
      "Restore a backup instead if you\ncan (semel restore). Queued and released records, and "
      "those in progress, become unknown.\nExit codes: 0 made, 1 not made, 2 bad command line.");
  command->callback([&run, options] { run = [options] { return repair(*options); }; });
}

}  // namespace

void add_store(CLI::App& app, Run& run) {
  CLI::App* group =
      app.add_subcommand("store", "Examine or repair an embedded store that nobody has open");
  group->group(kGroupOperate);
  group->require_subcommand(1);
  add_store_command(*group, run, "stat", "Count what is in the store", print_stat);
  add_store_command(*group, run, "check",
                    "Read every record, its answer and the index, and name what is damaged; "
                    "changes nothing",
                    print_check)
      ->footer("Exit codes: 0 all sound, 1 damaged or not readable, 2 bad command line.");
  add_store_repair(*group, run);
}

}  // namespace semel::cli
