#include "cli/admin/many.h"

#include <boost/json.hpp>
#include <cstdio>

#include "cli/admin/command.h"
#include "cli/commands.h"

namespace semel::cli {

namespace json = boost::json;

int change_many(AdminClient& admin, const std::string& target, const std::string& past,
                json::object change, bool as_json) {
  const bool is_dry = change.at("dry_run").as_bool();
  json::array ids;
  json::array refused;
  for (;;) {
    const auto reply = admin.post(target, change);
    if (!reply) return complain(reply.error(), kExitFailed);
    if (reply->status != 200) return explain_reply(*reply);
    for (const json::value& id : reply->body.at("ids").as_array()) {
      ids.push_back(id);
      if (!as_json) std::puts(json::value_to<std::string>(id).c_str());
    }
    for (const json::value& one : reply->body.at("refused").as_array()) {
      refused.push_back(one);
      std::fprintf(stderr, "%s refused: %s\n", text_of(one, "id").c_str(),
                   text_of(one, "why").c_str());
    }
    if (!reply->body.at("next").is_string()) break;
    change["cursor"] = reply->body.at("next");
  }
  const int code = refused.empty() ? kExitOk : kExitRefused;
  if (as_json) {
    print_json(json::object{{"dry_run", is_dry}, {"ids", ids}, {"refused", refused}});
  } else {
    std::fprintf(stderr, "%zu %s%s, %zu refused\n", ids.size(), is_dry ? "would be " : "",
                 past.c_str(), refused.size());
  }
  return code;
}

}  // namespace semel::cli
