#include "cli/admin/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/percent.h"
#include "cli/admin/command.h"
#include "cli/commands.h"

namespace semel::cli {

namespace json = boost::json;

namespace {
constexpr std::size_t kPageMax = 1000;
}  // namespace

std::string query_of(const json::object& filter) {
  std::string out;
  for (const auto& member : filter) {
    out += "&" + base::percent_encoded({member.key().data(), member.key().size()}) + "=" +
           base::percent_encoded(json::value_to<std::string>(member.value()));
  }
  return out;
}

PagesEnd for_each_item(AdminClient& admin, const Pages& pages, std::string_view list,
                       const std::function<int(const json::value& item)>& use) {
  std::string cursor;
  for (std::size_t left = pages.limit; left > 0;) {
    std::string target =
        fmt::format("{}?limit={}{}", pages.path, std::min(left, kPageMax), pages.query);
    if (!cursor.empty()) target += "&cursor=" + base::percent_encoded(cursor);
    const auto reply = admin.get(target);
    if (!reply) return {complain(reply.error(), kExitFailed)};
    if (reply->status != 200) return {explain_reply(*reply)};
    for (const json::value& item : reply->body.at(list).as_array()) {
      if (const int code = use(item); code != kExitOk) return {code};
      --left;
    }
    cursor = text_of(reply->body, "next");
    if (cursor.empty()) return {};
  }
  return {kExitOk, true};
}

}  // namespace semel::cli
