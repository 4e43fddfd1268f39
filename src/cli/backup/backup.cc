#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/admin/client.h"
#include "cli/commands.h"
#include "cli/load_config.h"
#include "stores/embedded/backup.h"
#include "stores/embedded/directory.h"

namespace semel::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr auto kBackupTimeout =
    std::chrono::hours(12);  // for copying a large store to another disk

struct BackupOptions {
  AdminOptions admin;
  std::string to;
};

// Says how a store of another kind is backed up; nullopt: it is an embedded one.
std::optional<std::string> other_means(const config::Config& config) {
  switch (config.store.kind) {
    case stores::StoreKind::embedded:
      return std::nullopt;
    case stores::StoreKind::memory:
      return "the memory store keeps nothing that could be backed up";
    case stores::StoreKind::postgres:
    case stores::StoreKind::tiered:
      return "the records are in PostgreSQL: back that up with pg_dump, or archive its WAL "
             "(docs/operations.md, Backup)";
    case stores::StoreKind::redis:
      return "the records are in Redis: back that up by its own means, as RDB or AOF files "
             "(docs/operations.md, Backup)";
  }
  return std::nullopt;
}

int print_done(const std::string& to, std::uint64_t files, std::uint64_t bytes) {
  fmt::print("{}: {} files, {} bytes\n", to, files, bytes);
  return kExitOk;
}

int ask_gateway(const BackupOptions& options, const std::string& to) {
  auto client = AdminClient::open(options.admin);
  if (!client) return complain(client.error(), kExitUsage);
  const auto reply = client->post("/api/backup", json::object{{"to", to}});
  if (!reply) return complain(reply.error(), kExitFailed);
  const json::object* body = reply->body.if_object();
  if (reply->status != 200 || !body) {
    const json::value* detail = body ? body->if_contains("detail") : nullptr;
    return complain(detail && detail->is_string()
                        ? std::string(detail->get_string())
                        : fmt::format("the gateway answered {}", reply->status),
                    kExitFailed);
  }
  return print_done(to, body->at("files").to_number<std::uint64_t>(),
                    body->at("bytes").to_number<std::uint64_t>());
}

// Returns whether a process has the store open: then that one makes the backup.
bool is_in_use(const std::string& folder) {
  return !stores::DirectoryLock::take(folder).has_value();
}

int back_up(const BackupOptions& options) {
  const std::string to = stores::whole_path(options.to).string();
  if (options.admin.config.empty()) return ask_gateway(options, to);
  const auto config = load_config(options.admin.config);
  if (!config) return kExitUsage;
  if (const auto means = other_means(*config)) return complain(*means, kExitUsage);
  std::error_code error;
  const bool is_there = fs::is_directory(config->store.path, error);
  if (!options.admin.url.empty() || (is_there && is_in_use(config->store.path))) {
    return ask_gateway(options, to);
  }
  const auto made = stores::backup_closed_store({.path = config->store.path}, to);
  if (!made) return complain(made.error(), kExitFailed);
  return print_done(to, made->files, made->bytes);
}

struct RestoreOptions {
  std::string from;
  std::string to;
};

int restore(const RestoreOptions& options) {
  const auto restored = stores::restore_backup(options.from, options.to);
  if (!restored) return complain(restored.error(), kExitFailed);
  const StoreBackup total = restored->total();
  print_done(options.to, total.files, total.bytes);
  fmt::print(
      "It is the store of {} as of {}. Keys acknowledged after that are forgotten:\n"
      "a retry of one of them is executed again.\n",
      restored->node, restored->time);
  return kExitOk;
}

}  // namespace

void add_backup(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("backup", "Copy the embedded store to a new folder, while it is used");
  auto options = std::make_shared<BackupOptions>();
  options->admin.timeout = kBackupTimeout;
  command->group(kGroupOperate);
  command
      ->add_option("--to", options->to,
                   "The folder to make, on the gateway's machine; it must not exist")
      ->type_name("FOLDER")
      ->required();
  add_config_file(*command, options->admin.config,
                  "The gateway's configuration file: says where the store is, and the listener");
  command
      ->add_option("--admin", options->admin.url,
                   "Address of the admin listener; default http://127.0.0.1:9090")
      ->type_name("URL");
  command->add_option("--token-file", options->admin.token_file, "File with the token to send")
      ->type_name("FILE");
  command->footer(
      "The gateway that has the store open makes the backup, and goes on serving. If none runs, "
      "this\ncommand opens the store itself. Encryption keys and tokens are not part of a backup. "
      "On the same\nfile system it shares its tables with the store: copy it to another disk.\n"
      "Exit codes: 0 done, 1 failed, 2 bad command line or configuration.");
  command->callback([&run, options] { run = [options] { return back_up(*options); }; });
}

void add_restore(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("restore", "Verify a backup of an embedded store, and put it in place");
  auto options = std::make_shared<RestoreOptions>();
  command->group(kGroupOperate);
  command->add_option("--from", options->from, "The backup")->type_name("FOLDER")->required();
  command
      ->add_option("--to", options->to,
                   "The folder of the store (store.path); must be empty or not exist")
      ->type_name("FOLDER")
      ->required();
  command->footer(
      "Writes nothing if a file of the backup is missing, cut off or damaged. Run it as the user "
      "that\nsemel runs as.\nKeys acknowledged after the backup are forgotten by a restore: a "
      "retry of one of them is executed\nagain.\nExit codes: 0 done, 1 refused or failed, 2 bad "
      "command line.");
  command->callback([&run, options] { run = [options] { return restore(*options); }; });
}

}  // namespace semel::cli
