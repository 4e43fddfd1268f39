// `semel keys resolve`, `release`, `forget` and `extend`: decisions about records.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/base64.h"
#include "base/percent.h"
#include "cli/admin/command.h"
#include "cli/admin/many.h"
#include "cli/commands.h"
#include "cli/keys/options.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

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

// Decides about one record, and prints `said` about it.
int decide_one(const KeysOptions& options, AdminClient& admin, const std::string& verb,
               const json::object& decision,
               const std::function<std::string(const json::value& record)>& said) {
  const auto reply =
      admin.post("/api/keys/" + base::percent_encoded(options.id) + "/" + verb, decision);
  if (!reply) return complain(reply.error(), kExitFailed);
  if (reply->status != 200) return explain_reply(*reply);
  if (options.as_json) {
    print_json(reply->body);
  } else {
    std::puts(said(reply->body).c_str());
  }
  return kExitOk;
}

const char* past_of(std::string_view verb) {
  if (verb == "resolve") return "resolved";
  return verb == "release" ? "released" : "forgotten";
}

}  // namespace

int decide_keys(const KeysOptions& options, AdminClient& admin, const char* verb) {
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
  if (!options.id.empty()) {
    return decide_one(options, admin, verb, decision, [](const json::value& record) {
      return text_of(record, "id") + " is now " + text_of(record, "state");
    });
  }
  auto filter = filter_of(options);
  if (!filter) return filter.error();
  decision["where"] = *std::move(filter);
  decision["dry_run"] = options.dry_run;
  return change_many(admin, std::string("/api/keys/") + verb, past_of(verb), std::move(decision),
                     options.as_json);
}

int extend_key(const KeysOptions& options, AdminClient& admin) {
  const json::object decision{{"reason", options.reason}, {"ttl", options.ttl}};
  return decide_one(options, admin, "extend", decision, [](const json::value& record) {
    return text_of(record, "id") + " expires at " + text_of(record, "expires_at");
  });
}

}  // namespace semel::cli
