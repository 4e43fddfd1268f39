// `semel keys ls`, `show` and `export`: reads records, changes nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <sstream>
#include <utility>

#include "base/percent.h"
#include "cli/admin/command.h"
#include "cli/admin/pages.h"
#include "cli/commands.h"
#include "cli/keys/keys_print.h"
#include "cli/keys/options.h"
#include "cli/line/progress.h"
#include "core/json_text.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kFoundShown = 10;

// Parses "state=unknown,older=1h", any number of times. nullopt: one of them is not name=value.
std::optional<json::object> parse_where(const std::vector<std::string>& where) {
  json::object out;
  for (const std::string& words : where) {
    std::istringstream in(words);
    std::string word;
    while (std::getline(in, word, ',')) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos || equals == 0) return std::nullopt;
      out[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return out;
}

int show_by_id(const KeysOptions& options, AdminClient& admin, const std::string& id) {
  const auto reply = admin.get("/api/keys/" + base::percent_encoded(id));
  if (!reply) return complain(reply.error(), kExitFailed);
  if (reply->status != 200) return explain_reply(*reply);
  options.as_json ? print_json(reply->body) : print_record(reply->body);
  return kExitOk;
}

// Adds the recorded answer to what is exported. Returns the exit code.
int add_answer(AdminClient& admin, json::object& record) {
  const std::string state = text_of(record, "state");
  record["answer"] = nullptr;
  if (state != "completed") return kExitOk;
  const auto reply = admin.get("/api/keys/" + text_of(record, "id") + "/answer");
  if (!reply) return complain(reply.error(), kExitFailed);
  if (reply->status == 200) record["answer"] = reply->body;
  // It was forgotten or has expired since the page was read, or there is nothing to show.
  if (reply->status == 200 || reply->status == 404 || reply->status == 409) return kExitOk;
  return explain_reply(*reply);
}

}  // namespace

std::expected<json::object, int> filter_of(const KeysOptions& options) {
  auto filter = parse_where(options.where);
  if (!filter) {
    return std::unexpected(complain(
        "--where: write name=value, as in state=unknown,operation=charges,older=1h", kExitUsage));
  }
  for (const auto& [name, value] : {std::pair("state", &options.state),
                                    {"operation", &options.operation},
                                    {"record", &options.record},
                                    {"resource", &options.resource},
                                    {"described", &options.described},
                                    {"q", &options.text}}) {
    if (!value->empty()) (*filter)[name] = *value;
  }
  return *std::move(filter);
}

int list_keys(const KeysOptions& options, AdminClient& admin) {
  const auto filter = filter_of(options);
  if (!filter) return filter.error();
  json::array keys;
  bool has_head = options.as_json;
  const PagesEnd end = for_each_item(admin, {"/api/keys", query_of(*filter), options.limit}, "keys",
                                     [&](const json::value& record) {
                                       if (options.as_json) {
                                         keys.push_back(record);
                                         return kExitOk;
                                       }
                                       if (!std::exchange(has_head, true)) print_list_head();
                                       print_list_line(record);
                                       return kExitOk;
                                     });
  if (end.code != kExitOk) return end.code;
  if (options.as_json) {
    print_json(json::object{{"keys", std::move(keys)}, {"more", end.has_more}});
    return kExitOk;
  }
  if (!has_head) print_list_head();
  if (end.has_more) std::fprintf(stderr, "There may be more; raise --limit.\n");
  return kExitOk;
}

int show_key(const KeysOptions& options, AdminClient& admin) {
  const auto filter = filter_of(options);
  if (!filter) return filter.error();
  if (options.id.empty() == filter->empty()) {
    return complain("give one ID, or search with --resource, --described, --search or --where",
                    kExitUsage);
  }
  if (!options.id.empty()) return show_by_id(options, admin, options.id);
  std::vector<json::value> found;
  const PagesEnd end =
      for_each_item(admin, {"/api/keys", query_of(*filter), kFoundShown}, "keys",
                    [&](const json::value& record) { return found.push_back(record), kExitOk; });
  if (end.code != kExitOk) return end.code;
  if (found.empty()) return complain("there is no such record", kExitNotFound);
  if (found.size() == 1) return show_by_id(options, admin, text_of(found.front(), "id"));
  complain("several records match; show one of them by its id:", kExitRefused);
  for (const json::value& record : found) {
    fmt::print(stderr, "  {}  {}  {}\n", text_of(record, "id"), text_of(record, "state"),
               text_of(record, "key"));
  }
  return kExitRefused;
}

int export_keys(const KeysOptions& options, AdminClient& admin) {
  const auto filter = filter_of(options);
  if (!filter) return filter.error();
  Progress progress("records exported");
  const PagesEnd end =
      for_each_item(admin, {"/api/keys", query_of(*filter)}, "keys", [&](const json::value& one) {
        json::object record = one.as_object();
        if (options.answers) {
          if (const int code = add_answer(admin, record); code != kExitOk) return code;
        }
        if (std::puts(core::json_text(record).c_str()) == EOF) {
          return complain("standard output cannot be written", kExitFailed);
        }
        progress.add(1);
        return kExitOk;
      });
  if (end.code == kExitOk && std::fflush(stdout) == EOF) {
    return complain("standard output cannot be written", kExitFailed);
  }
  return end.code;
}

}  // namespace semel::cli
