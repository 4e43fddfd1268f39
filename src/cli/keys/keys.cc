#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/percent.h"
#include "cli/commands.h"
#include "cli/keys/admin_client.h"
#include "cli/keys/keys_print.h"
#include "cli/load_config.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr int kExitRefused = 4;
constexpr int kExitNotAllowed = 5;
constexpr std::size_t kPageMax = 1000;
constexpr const char* kKeysExitCodes =
    "Exit codes: 0 done, 1 failed (no answer, store down), 2 bad command line,\n"
    "3 no such record, 4 refused (it may still run, or there is nothing to decide),\n"
    "5 not allowed (token missing or wrong).";

struct KeysOptions {
  AdminOptions admin;
  bool as_json = false;
  std::string id;
  std::vector<std::string> where;
  std::size_t limit = 100;
  std::string reason;
  bool force = false;
  bool dry_run = false;
  int status = 0;
  std::vector<std::string> headers;
  std::string body;
};

void print_json(const json::value& value) {
  std::puts(json::serialize(value).c_str());
}

// Explains an answer that is not 200. Returns the exit code.
int explain(const AdminReply& reply) {
  std::string detail = fmt::format("the gateway answered {}", reply.status);
  const auto* object = reply.body.if_object();
  if (object && object->contains("detail") && object->at("detail").is_string()) {
    detail = json::value_to<std::string>(object->at("detail"));
  }
  switch (reply.status) {
    case 401:
    case 403:
      return complain(detail, kExitNotAllowed);
    case 404:
      return complain(detail, kExitNotFound);
    case 409:
      return complain(detail, kExitRefused);
    case 400:
      return complain(detail, kExitUsage);
    default:
      return complain(detail, kExitFailed);
  }
}

// Parses "state=unknown,older=1h", any number of times. nullopt: one of them is not name=value.
std::optional<json::object> filter_of(const std::vector<std::string>& where) {
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

int bad_where() {
  return complain("--where: write name=value, as in state=unknown,operation=charges,older=1h",
                  kExitUsage);
}

std::string query_of(const json::object& filter) {
  std::string out;
  for (const auto& member : filter) {
    out += "&" + base::percent_encoded({member.key().data(), member.key().size()}) + "=" +
           base::percent_encoded(json::value_to<std::string>(member.value()));
  }
  return out;
}

std::string text_or_empty(const json::value& value) {
  return value.is_string() ? json::value_to<std::string>(value) : std::string();
}

// Goes on from page to page until there is enough: a page may be empty although there is more.
int list(const KeysOptions& options, const AdminClient& admin) {
  const auto filter = filter_of(options.where);
  if (!filter) return bad_where();
  const std::string query = query_of(*filter);
  json::array keys;
  std::string cursor;
  bool has_head = options.as_json;
  for (std::size_t left = options.limit; left > 0;) {
    std::string target = fmt::format("/api/keys?limit={}{}", std::min(left, kPageMax), query);
    if (!cursor.empty()) target += "&cursor=" + cursor;
    const auto reply = admin.get(target);
    if (!reply) return complain(reply.error(), kExitFailed);
    if (reply->status != 200) return explain(*reply);
    if (!std::exchange(has_head, true)) print_list_head();
    for (const json::value& record : reply->body.at("keys").as_array()) {
      if (options.as_json) {
        keys.push_back(record);
      } else {
        print_list_line(record);
      }
      --left;
    }
    cursor = text_or_empty(reply->body.at("next"));
    if (cursor.empty()) break;
  }
  if (options.as_json) {
    print_json(json::object{{"keys", std::move(keys)}, {"more", !cursor.empty()}});
  } else if (!cursor.empty()) {
    std::fprintf(stderr, "There may be more; raise --limit.\n");
  }
  return kExitOk;
}

int show(const KeysOptions& options, const AdminClient& admin) {
  const auto reply = admin.get("/api/keys/" + base::percent_encoded(options.id));
  if (!reply) return complain(reply.error(), kExitFailed);
  if (reply->status != 200) return explain(*reply);
  options.as_json ? print_json(reply->body) : print_record(reply->body);
  return kExitOk;
}

std::optional<std::string> read_body(const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(file, std::ios::binary);
  if (in) text << in.rdbuf();
  if (!in) return std::nullopt;
  return text.str();
}

// Returns the answer that the command line describes. Only what cannot be sent at all is an error
// here; the gateway says what else is wrong.
std::expected<json::object, std::string> answer_of(const KeysOptions& options) {
  json::array headers;
  for (const std::string& header : options.headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos) {
      return std::unexpected("--header: write 'Name: value'");
    }
    const std::size_t begin = std::min(header.find_first_not_of(' ', colon + 1), header.size());
    headers.push_back({header.substr(0, colon), header.substr(begin)});
  }
  json::object answer{{"status", options.status}, {"headers", std::move(headers)}};
  if (!options.body.empty()) {
    const auto body = read_body(options.body);
    if (!body) return std::unexpected("--body: " + options.body + " cannot be read");
    answer["body_base64"] = base::encode_base64(*body);
  }
  return answer;
}

int decide_one(const KeysOptions& options, const AdminClient& admin, const char* verb,
               const json::object& decision) {
  const auto reply =
      admin.post("/api/keys/" + base::percent_encoded(options.id) + "/" + verb, decision);
  if (!reply) return complain(reply.error(), kExitFailed);
  if (reply->status != 200) return explain(*reply);
  if (options.as_json) {
    print_json(reply->body);
  } else {
    std::printf("%s is now %s\n", json::value_to<std::string>(reply->body.at("id")).c_str(),
                json::value_to<std::string>(reply->body.at("state")).c_str());
  }
  return kExitOk;
}

const char* past_of(std::string_view verb) {
  if (verb == "resolve") return "resolved";
  return verb == "release" ? "released" : "forgotten";
}

int decide_many(const KeysOptions& options, const AdminClient& admin, const char* verb,
                json::object decision) {
  auto filter = filter_of(options.where);
  if (!filter) return bad_where();
  decision["where"] = std::move(*filter);
  decision["dry_run"] = options.dry_run;
  json::array ids;
  json::array refused;
  for (;;) {
    const auto reply = admin.post(std::string("/api/keys/") + verb, decision);
    if (!reply) return complain(reply.error(), kExitFailed);
    if (reply->status != 200) return explain(*reply);
    for (const json::value& id : reply->body.at("ids").as_array()) {
      ids.push_back(id);
      if (!options.as_json) std::puts(json::value_to<std::string>(id).c_str());
    }
    for (const json::value& one : reply->body.at("refused").as_array()) {
      refused.push_back(one);
      std::fprintf(stderr, "%s refused: %s\n", json::value_to<std::string>(one.at("id")).c_str(),
                   json::value_to<std::string>(one.at("why")).c_str());
    }
    if (!reply->body.at("next").is_string()) break;
    decision["cursor"] = reply->body.at("next");
  }
  const int code = refused.empty() ? kExitOk : kExitRefused;
  if (options.as_json) {
    print_json(json::object{{"dry_run", options.dry_run}, {"ids", ids}, {"refused", refused}});
  } else {
    std::fprintf(stderr, "%zu %s%s, %zu refused\n", ids.size(), options.dry_run ? "would be " : "",
                 past_of(verb), refused.size());
  }
  return code;
}

int decide(const KeysOptions& options, const AdminClient& admin, const char* verb) {
  if (options.id.empty() == options.where.empty()) {
    return complain("give one ID, or choose several records with --where", kExitUsage);
  }
  if (options.dry_run && options.where.empty()) {
    return complain("--dry-run needs --where", kExitUsage);
  }
  json::object decision{{"reason", options.reason}};
  if (options.force) decision["force"] = true;
  if (std::string_view(verb) == "resolve") {
    auto answer = answer_of(options);
    if (!answer) return complain(answer.error(), kExitUsage);
    decision["answer"] = *std::move(answer);
  }
  if (!options.id.empty()) return decide_one(options, admin, verb, decision);
  return decide_many(options, admin, verb, std::move(decision));
}

using Action = int (*)(const KeysOptions&, const AdminClient&);
using Options = std::shared_ptr<KeysOptions>;

// If `placed`, FILE may stand without --config: nothing else stands there.
CLI::App* add_action(CLI::App* group, Run& run, const Options& options, const char* name,
                     const char* help, bool placed, Action action) {
  CLI::App* command = group->add_subcommand(name, help);
  AdminOptions& admin = options->admin;
  command
      ->add_option("--admin", admin.url,
                   "Address of the admin listener; default http://127.0.0.1:9090")
      ->type_name("URL");
  add_config_file(*command, admin.config,
                  "Take the listener and the token from this configuration file", placed);
  command->add_option("--token-file", admin.token_file, "File with the token to send")
      ->type_name("FILE");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->footer(kKeysExitCodes);
  command->callback([&run, options, action] {
    run = [options, action] {
      const auto client = AdminClient::open(options->admin);
      if (!client) return complain(client.error(), kExitUsage);
      return action(*options, *client);
    };
  });
  return command;
}

void add_where(CLI::App* command, const Options& options) {
  command
      ->add_option(
          "--where", options->where,
          "Choose records by state, reason (its beginning), operation, tenant, key, older "
          "(unchanged for that long) or newer,\nas in state=unknown,operation=charges,older=1h")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE,...");
}

void add_decision(CLI::App* command, const Options& options) {
  command->add_option("ID", options->id, "The record: its id, or the first 8 or more digits");
  add_where(command, options);
  command->add_option("--reason", options->reason, "The reason; kept in the record and in the log")
      ->required();
  command->add_flag("--dry-run", options->dry_run,
                    "With --where: only list the records, change nothing");
}

void add_force(CLI::App* command, const Options& options) {
  command->add_flag("--force", options->force,
                    "Decide even if the execution may still run; its answer is then not recorded");
}

}  // namespace

void add_keys(CLI::App& app, Run& run) {
  CLI::App* group =
      app.add_subcommand("keys", "Inspect the records of a running gateway and decide about them");
  group->group(kGroupOperate);
  group->require_subcommand(1);
  group->footer(kKeysExitCodes);
  const auto options = std::make_shared<KeysOptions>();

  CLI::App* ls = add_action(group, run, options, "ls", "List records", true, list);
  add_where(ls, options);
  ls->add_option("--limit", options->limit, "Maximum number of records")->capture_default_str();

  CLI::App* one =
      add_action(group, run, options, "show", "Show one record and its history", false, show);
  one->add_option("ID", options->id, "The record: its id, or the first 8 or more digits")
      ->required();

  CLI::App* resolve = add_action(
      group, run, options, "resolve",
      "Complete records whose outcome is unknown with a given answer; retries get it", false,
      [](const KeysOptions& o, const AdminClient& admin) { return decide(o, admin, "resolve"); });
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
      [](const KeysOptions& o, const AdminClient& admin) { return decide(o, admin, "release"); });
  add_decision(release, options);
  add_force(release, options);

  CLI::App* forget = add_action(
      group, run, options, "forget",
      "Remove the answers of completed or released records; the key is new once no cache has them",
      false,
      [](const KeysOptions& o, const AdminClient& admin) { return decide(o, admin, "forget"); });
  add_decision(forget, options);
}

}  // namespace semel::cli
