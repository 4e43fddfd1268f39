#include <memory>
#include <string>

#include "cli/admin/command.h"
#include "cli/commands.h"
#include "cli/keys/options.h"

namespace semel::cli {
namespace {

constexpr const char* kKeysExitCodes =
    "Exit codes: 0 done, 1 failed (no answer, store down), 2 bad command line,\n"
    "3 no such record, 4 refused (it may still run, or there is nothing to decide),\n"
    "5 not allowed (token missing or wrong).\n"
    "If no gateway answers, the store of --config FILE is used directly.";
constexpr const char* kIdHelp = "The record: its id, or the first 8 or more digits";

using KeysAction = int (*)(const KeysOptions&, AdminClient&);
using KeysOptionsPtr = std::shared_ptr<KeysOptions>;

CLI::App* add_action(CLI::App* group, Run& run, const KeysOptionsPtr& options, const char* name,
                     const char* help, bool placed, KeysAction action) {
  CLI::App* command = group->add_subcommand(name, help);
  add_admin_options(*command, options->admin, placed);
  command->footer(kKeysExitCodes);
  command->callback([&run, options, action] {
    run = [options, action] {
      auto client = AdminClient::open(options->admin);
      if (!client) return complain(client.error(), kExitUsage);
      return action(*options, *client);
    };
  });
  return command;
}

void add_json(CLI::App* command, const KeysOptionsPtr& options) {
  command->add_flag("--json", options->as_json, "Print JSON");
}

void add_where(CLI::App* command, const KeysOptionsPtr& options) {
  command
      ->add_option(
          "--where", options->where,
          "Choose records by state, reason (its beginning), operation, tenant, key, older "
          "(unchanged for that long) or newer,\nas in state=unknown,operation=charges,older=1h")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE,...");
}

void add_search(CLI::App* command, const KeysOptionsPtr& options) {
  add_where(command, options);
  command->add_option("--record", options->record, "Records whose id begins with these digits")
      ->type_name("DIGITS");
  command->add_option("--resource", options->resource, "The record that made this resource")
      ->type_name("ID");
  command
      ->add_option("--described", options->described,
                   "Records whose request has this value, by a pointer that the route describes; "
                   "as in /amount=4200")
      ->type_name("POINTER=VALUE");
  command
      ->add_option("--search", options->text,
                   "Anything: a key, the first digits of a record, a tenant or a resource's id")
      ->type_name("TEXT");
}

void add_decision(CLI::App* command, const KeysOptionsPtr& options) {
  command->add_option("ID", options->id, kIdHelp);
  add_where(command, options);
  command->add_option("--reason", options->reason, "The reason; kept in the record and in the log")
      ->required();
  command->add_flag("--dry-run", options->dry_run,
                    "With --where: only list the records, change nothing");
  add_json(command, options);
}

void add_force(CLI::App* command, const KeysOptionsPtr& options) {
  command->add_flag("--force", options->force,
                    "Decide even if the execution may still run; its answer is then not recorded");
}

void add_looks(CLI::App* group, Run& run, const KeysOptionsPtr& options) {
  CLI::App* ls = add_action(group, run, options, "ls", "List records", true, list_keys);
  add_search(ls, options);
  ls->add_option("--limit", options->limit, "Maximum number of records")->capture_default_str();
  add_json(ls, options);

  CLI::App* one =
      add_action(group, run, options, "show", "Show one record and its history", false, show_key);
  one->add_option("ID", options->id, std::string(kIdHelp) + "; or search for it");
  add_search(one, options);
  add_json(one, options);

  CLI::App* out =
      add_action(group, run, options, "export", "Write every record that matches as a line of JSON",
                 true, export_keys);
  add_search(out, options);
  out->add_option("--state", options->state, "Only records in this state");
  out->add_option("--operation", options->operation, "Only records of this operation");
  out->add_flag("--answers", options->answers,
                "With the recorded answers and their bodies; needs a token, and is logged");
}

void add_decisions(CLI::App* group, Run& run, const KeysOptionsPtr& options) {
  CLI::App* resolve = add_action(
      group, run, options, "resolve",
      "Complete records whose outcome is unknown with a given answer; retries get it", false,
      [](const KeysOptions& o, AdminClient& admin) { return decide_keys(o, admin, "resolve"); });
  add_decision(resolve, options);
  add_force(resolve, options);
  resolve->add_option("--status", options->status, "The answer's status")->required();
  resolve->add_option("--header", options->headers, "A header of the answer: 'Name: value'")
      ->allow_extra_args(false);
  resolve->add_option("--body", options->body, "The answer's body; - for standard input")
      ->type_name("FILE");

  CLI::App* release = add_action(
      group, run, options, "release",
      "Let records whose outcome is unknown run again: nothing was executed", false,
      [](const KeysOptions& o, AdminClient& admin) { return decide_keys(o, admin, "release"); });
  add_decision(release, options);
  add_force(release, options);

  CLI::App* forget = add_action(
      group, run, options, "forget",
      "Remove the answers of completed or released records; the key is new once no cache has them",
      false,
      [](const KeysOptions& o, AdminClient& admin) { return decide_keys(o, admin, "forget"); });
  add_decision(forget, options);

  CLI::App* extend =
      add_action(group, run, options, "extend", "Keep a completed or released record for longer",
                 false, extend_key);
  extend->add_option("ID", options->id, kIdHelp)->required();
  extend->add_option("--ttl", options->ttl, "How long it lives from now: 12h, 7d")
      ->type_name("DURATION")
      ->required();
  extend->add_option("--reason", options->reason, "The reason; kept in the record and in the log")
      ->required();
  add_json(extend, options);
}

}  // namespace

void add_keys(CLI::App& app, Run& run) {
  CLI::App* group =
      app.add_subcommand("keys", "Inspect the records of a gateway and decide about them");
  group->group(kGroupOperate);
  group->require_subcommand(1);
  group->footer(kKeysExitCodes);
  const auto options = std::make_shared<KeysOptions>();
  add_looks(group, run, options);
  add_decisions(group, run, options);
}

}  // namespace semel::cli
