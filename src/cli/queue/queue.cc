#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/percent.h"
#include "cli/admin/command.h"
#include "cli/admin/many.h"
#include "cli/admin/pages.h"
#include "cli/commands.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr const char* kQueueExitCodes =
    "Exit codes: 0 done, 1 failed (no answer, store down), 2 bad command line,\n"
    "3 no such item, 4 refused (it runs, or there is nothing to decide),\n"
    "5 not allowed (token missing or wrong).";
constexpr std::size_t kItemDigitsShown = 16;

struct QueueOptions {
  AdminOptions admin;
  bool as_json = false;
  std::string id;
  std::string state;
  std::string operation;
  std::size_t limit = 100;
  std::string reason;
  bool dry_run = false;
};
using QueueOptionsPtr = std::shared_ptr<QueueOptions>;

json::object chosen_by(const QueueOptions& options) {
  json::object where;
  if (!options.state.empty()) where["state"] = options.state;
  if (!options.operation.empty()) where["operation"] = options.operation;
  return where;
}

void print_item(const json::value& item) {
  std::puts(fmt::format("{:<17} {:<8} {:<8} {:>4}  {:<20}  {:<20}  {:<20}  {}",
                        text_of(item, "id").substr(0, kItemDigitsShown), text_of(item, "kind"),
                        text_of(item, "state"), text_of(item, "attempt"),
                        text_of(item, "next_try_at").substr(0, 20),
                        cut(text_of(item, "operation"), 20), cut(text_of(item, "key"), 20),
                        text_of(item, "reason"))
                .c_str());
}

int list_queue(const QueueOptions& options, AdminClient& admin) {
  json::array items;
  if (!options.as_json) {
    std::puts(
        "ITEM              KIND     STATE     TRY  NEXT TRY              OPERATION             KEY"
        "                   REASON");
  }
  const PagesEnd end =
      for_each_item(admin, {"/api/queue", query_of(chosen_by(options)), options.limit}, "items",
                    [&](const json::value& item) {
                      if (options.as_json) {
                        items.push_back(item);
                      } else {
                        print_item(item);
                      }
                      return kExitOk;
                    });
  if (end.code != kExitOk) return end.code;
  if (options.as_json) {
    print_json(json::object{{"items", std::move(items)}, {"more", end.has_more}});
  } else if (end.has_more) {
    std::fprintf(stderr, "There may be more; raise --limit.\n");
  }
  return kExitOk;
}

// `past` is "retried" or "dropped".
int change_queue(const QueueOptions& options, AdminClient& admin, const std::string& verb,
                 const std::string& past) {
  json::object where = chosen_by(options);
  if (options.id.empty() == where.empty()) {
    return complain("give one ID, or choose several items with --state or --operation", kExitUsage);
  }
  if (!options.id.empty()) {
    if (options.dry_run) return complain("--dry-run needs --state or --operation", kExitUsage);
    const auto reply = admin.post("/api/queue/" + base::percent_encoded(options.id) + "/" + verb,
                                  json::object{{"reason", options.reason}});
    if (!reply) return complain(reply.error(), kExitFailed);
    if (reply->status != 200) return explain_reply(*reply);
    if (options.as_json) {
      print_json(reply->body);
    } else {
      std::puts((options.id + " " + past).c_str());
    }
    return kExitOk;
  }
  return change_many(
      admin, "/api/queue/" + verb, past,
      {{"reason", options.reason}, {"where", std::move(where)}, {"dry_run", options.dry_run}},
      options.as_json);
}

using QueueAction = int (*)(const QueueOptions&, AdminClient&);

CLI::App* add_queue_action(CLI::App* group, Run& run, const QueueOptionsPtr& options,
                           const char* name, const char* help, bool placed, QueueAction action) {
  CLI::App* command = group->add_subcommand(name, help);
  add_admin_options(*command, options->admin, placed);
  command->add_option("--state", options->state, "Only items in this state")
      ->check(CLI::IsMember({"queued", "running", "dead"}));
  command->add_option("--operation", options->operation, "Only items of this operation");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->footer(kQueueExitCodes);
  command->callback([&run, options, action] {
    run = [options, action] {
      auto client = AdminClient::open(options->admin);
      if (!client) return complain(client.error(), kExitUsage);
      return action(*options, *client);
    };
  });
  return command;
}

void add_queue_decision(CLI::App* command, const QueueOptionsPtr& options) {
  command->add_option("ID", options->id, "The item, as shown by ls; its first 8 or more digits");
  command->add_option("--reason", options->reason, "The reason; kept in the record and in the log")
      ->required();
  command->add_flag("--dry-run", options->dry_run,
                    "With --state or --operation: only list the items, change nothing");
}

}  // namespace

void add_queue(CLI::App& app, Run& run) {
  CLI::App* group = app.add_subcommand(
      "queue", "Inspect the requests and webhooks that Semel executes on its own, and decide");
  group->group(kGroupOperate);
  group->require_subcommand(1);
  group->footer(kQueueExitCodes);
  const auto options = std::make_shared<QueueOptions>();

  CLI::App* ls =
      add_queue_action(group, run, options, "ls", "List queued and dead items", true, list_queue);
  ls->add_option("--limit", options->limit, "Maximum number of items")->capture_default_str();

  CLI::App* retry = add_queue_action(
      group, run, options, "retry", "Try items now; dead ones get one more try", false,
      [](const QueueOptions& o, AdminClient& a) { return change_queue(o, a, "retry", "retried"); });
  add_queue_decision(retry, options);

  CLI::App* drop = add_queue_action(
      group, run, options, "drop",
      "Give items up: their keys are released, and executed if they are sent again", false,
      [](const QueueOptions& o, AdminClient& a) { return change_queue(o, a, "drop", "dropped"); });
  add_queue_decision(drop, options);
}

}  // namespace semel::cli
