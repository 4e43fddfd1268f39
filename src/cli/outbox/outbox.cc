#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/outbox/outbox_where.h"
#include "config/reading/values.h"
#include "relay/outbox_admin.h"

namespace semel::cli {
namespace {

namespace json = boost::json;
using relay::OutboxAdmin;
using relay::OutboxRow;

constexpr std::size_t kPage = 500;
constexpr const char* kOutboxExitCodes =
    "Exit codes: 0 done, 1 failed, 2 bad command line, 3 no such row.";

struct OutboxOptions {
  OutboxWhere where;
  relay::OutboxFilter filter;
  std::string destination;
  std::vector<std::int64_t> ids;
  bool all = false;
  bool yes = false;
  bool as_json = false;
  std::size_t limit = 100;
};

json::value number_or_null(const std::optional<Duration>& duration) {
  if (!duration) return nullptr;
  return duration->count();
}

json::object json_of(const OutboxRow& row) {
  json::object out;
  out["id"] = row.id;
  out["state"] = row.state;
  out["destination"] = row.destination;
  out["ordering_key"] = row.ordering_key ? json::value(*row.ordering_key) : json::value(nullptr);
  out["attempts"] = row.attempts;
  out["last_error"] = row.last_error;
  out["age_ms"] = row.age.count();
  out["due_in_ms"] = number_or_null(row.due_in);
  out["payload_bytes"] = row.payload_bytes;
  return out;
}

std::string seconds_of(Duration duration) {
  return fmt::format("{:.1f}s", static_cast<double>(duration.count()) / 1000);
}

void print_row(const OutboxRow& row) {
  std::puts(fmt::format(
                "{:<10} {:<8} {:>4} {:>9} {:>9}  {:<24} {:<20} {}", row.id, row.state, row.attempts,
                seconds_of(row.age), row.due_in ? seconds_of(*row.due_in) : std::string("-"),
                config::reading::shown(row.destination),
                row.ordering_key ? config::reading::shown(*row.ordering_key) : std::string("-"),
                config::reading::shown(row.last_error))
                .c_str());
}

std::expected<OutboxAdmin, int> open(OutboxOptions& asked) {
  if (!settle(asked.where)) return std::unexpected(kExitUsage);
  if (!asked.destination.empty()) asked.filter.destination = asked.destination;
  auto admin = OutboxAdmin::open(asked.where.url, asked.where.schema);
  if (!admin) return std::unexpected(complain(admin.error(), kExitFailed));
  return *std::move(admin);
}

int list(OutboxOptions asked) {
  auto admin = open(asked);
  if (!admin) return admin.error();
  json::array all;
  if (!asked.as_json) {
    std::puts(
        "ID         STATE     TRY       AGE       DUE  DESTINATION              ORDERING KEY  "
        "       LAST ERROR");
  }
  std::int64_t after = 0;
  for (std::size_t left = asked.limit; left > 0;) {
    const auto rows = admin->list(asked.filter, after, std::min(left, kPage));
    if (!rows) return complain(rows.error(), kExitFailed);
    for (const OutboxRow& row : *rows) {
      if (asked.as_json) {
        all.push_back(json_of(row));
      } else {
        print_row(row);
      }
    }
    if (rows->size() < std::min(left, kPage)) break;
    left -= rows->size();
    after = rows->back().id;
  }
  if (asked.as_json) std::puts(json::serialize(all).c_str());
  return kExitOk;
}

struct Change {
  const char* done;  // "retried"
  std::expected<std::vector<std::int64_t>, std::string> (OutboxAdmin::*apply)(
      const std::vector<std::int64_t>& ids);
};
constexpr Change kRetry{"retried", &OutboxAdmin::retry};
constexpr Change kDrop{"dropped", &OutboxAdmin::drop};

// Applies the change to the messages that were named, or to all that the filter lets through, page
// by page.
std::expected<std::vector<std::int64_t>, std::string> apply(OutboxAdmin& admin,
                                                            const OutboxOptions& asked,
                                                            const Change& change) {
  if (!asked.all) return (admin.*change.apply)(asked.ids);
  std::vector<std::int64_t> done;
  for (std::int64_t after = 0;;) {
    const auto rows = admin.list(asked.filter, after, kPage);
    if (!rows) return std::unexpected(rows.error());
    if (rows->empty()) return done;
    std::vector<std::int64_t> ids;
    for (const OutboxRow& row : *rows) ids.push_back(row.id);
    const auto found = (admin.*change.apply)(ids);
    if (!found) return std::unexpected(found.error());
    std::ranges::copy(*found, std::back_inserter(done));
    after = ids.back();
  }
}

int change(OutboxOptions asked, const Change& change) {
  if (asked.all != asked.ids.empty()) {
    return complain("give the IDs of rows, or use --all", kExitUsage);
  }
  if (!asked.all && (asked.filter.dead_only || !asked.destination.empty())) {
    return complain("--dead and --destination need --all, and cannot be used with an ID",
                    kExitUsage);
  }
  auto admin = open(asked);
  if (!admin) return admin.error();
  const auto done = apply(*admin, asked, change);
  if (!done) return complain(done.error(), kExitFailed);
  if (asked.as_json) {
    json::object out;
    out[change.done] = json::array(done->begin(), done->end());
    std::puts(json::serialize(out).c_str());
  } else {
    for (const std::int64_t id : *done) std::puts(fmt::format("{} {}", change.done, id).c_str());
    std::puts(fmt::format("{} {} row{}", change.done, done->size(), done->size() == 1 ? "" : "s")
                  .c_str());
  }
  return asked.all || !done->empty() ? kExitOk : kExitNotFound;
}

int drop(OutboxOptions asked) {
  if (!asked.yes) {
    return complain("drop removes messages for good; confirm with --yes", kExitUsage);
  }
  return change(std::move(asked), kDrop);
}

// If `placed`, FILE may stand without --config: nothing else stands there.
CLI::App* add_command(CLI::App& group, const char* name, const char* what, OutboxOptions& asked,
                      bool placed) {
  CLI::App* command = group.add_subcommand(name, what);
  add_outbox_where(*command, asked.where, placed);
  command->add_flag("--dead", asked.filter.dead_only,
                    "Only dead letters, including those that block their ordering key");
  command->add_option("--destination", asked.destination, "Only rows for this destination");
  command->add_flag("--json", asked.as_json, "Print JSON");
  command->footer(kOutboxExitCodes);
  return command;
}

void add_choice(CLI::App& command, OutboxOptions& asked) {
  command.add_option("ID", asked.ids, "IDs of rows, as shown by ls");
  command.add_flag("--all", asked.all,
                   "Every row, or every row that --dead and --destination select");
}

}  // namespace

void add_outbox(CLI::App& app, Run& run) {
  CLI::App* group = app.add_subcommand("outbox", "Inspect the outbox and its dead letters");
  group->group(kGroupOperate);
  group->require_subcommand(1);
  auto asked = std::make_shared<OutboxOptions>();

  CLI::App* ls = add_command(*group, "ls", "List waiting messages and dead letters", *asked, true);
  ls->add_option("--limit", asked->limit, "Maximum number of rows")->capture_default_str();
  ls->callback([&run, asked] { run = [asked] { return list(*asked); }; });

  CLI::App* retry = add_command(
      *group, "retry", "Deliver now: revive dead letters, make waiting rows due", *asked, false);
  add_choice(*retry, *asked);
  retry->callback([&run, asked] { run = [asked] { return change(*asked, kRetry); }; });

  CLI::App* drop_it =
      add_command(*group, "drop", "Remove rows without delivering them", *asked, false);
  add_choice(*drop_it, *asked);
  drop_it->add_flag("--yes", asked->yes, "Confirm the removal");
  drop_it->callback([&run, asked] { run = [asked] { return drop(*asked); }; });
}

}  // namespace semel::cli
