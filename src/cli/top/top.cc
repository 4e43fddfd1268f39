#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "cli/admin/command.h"
#include "cli/commands.h"
#include "cli/top/frame.h"
#include "cli/top/screen.h"

namespace semel::cli {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kRefreshEvery = std::chrono::seconds(1);
constexpr std::size_t kDecisionsShown = 100;
constexpr std::size_t kPointsShown = 60;
constexpr int kSignalExitBase = 128;
constexpr FrameSize kOnceSize{40, 100};

struct TopOptions {
  AdminOptions admin;
  bool once = false;
  bool as_json = false;
};

// Asks everything anew. False: something was not answered, and seen.trouble says why; the rest is
// as it was.
bool look(AdminClient& admin, Seen& seen) {
  for (const auto& [target, out] :
       {std::pair(std::string("/api/status"), &seen.status),
        {fmt::format("/api/stats?step=1s&limit={}", kPointsShown), &seen.stats},
        {fmt::format("/api/decisions?limit={}", kDecisionsShown), &seen.decisions}}) {
    auto reply = admin.get(target);
    if (!reply) {
      seen.trouble = reply.error().substr(0, reply.error().find('\n'));
      return false;
    }
    if (reply->status != 200) {
      const std::string detail = text_of(reply->body, "detail");
      seen.trouble =
          detail.empty() ? fmt::format("the gateway answered {}", reply->status) : detail;
      return false;
    }
    *out = std::move(reply->body);
  }
  seen.trouble.clear();
  return true;
}

json::object json_of(const Seen& seen) {
  const json::value* points = seen.stats.get_object().if_contains("points");
  const bool has_points = points && points->is_array() && !points->get_array().empty();
  return {{"status", seen.status},
          {"point", has_points ? points->get_array().back() : json::value(nullptr)},
          {"decisions", seen.decisions.at("decisions")}};
}

bool shows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    const std::string_view locale = value;
    return locale.contains("UTF-8") || locale.contains("utf8");
  }
  return false;
}

int print_frame(const Seen& seen) {
  const TextStyle style = style_of(stdout);
  std::vector<std::string> lines =
      draw_frame(seen, {kOnceSize.rows, style.width}, style, shows_utf8());
  lines.pop_back();  // the keys that could be pressed
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (const std::string& line : lines) std::puts(line.c_str());
  return kExitOk;
}

// Prints one object per second until nobody reads them, or once.
int print_objects(AdminClient& admin, bool once) {
  for (auto next = steady_clock::now();; next += kRefreshEvery) {
    Seen seen;
    if (!look(admin, seen)) return complain(seen.trouble, kExitFailed);
    print_json(json_of(seen));
    if (std::fflush(stdout) != 0) return kExitFailed;
    if (once) return kExitOk;
    std::this_thread::sleep_until(next + kRefreshEvery);
  }
}

int run_screen(AdminClient& admin) {
  Seen seen;
  if (!look(admin, seen)) return complain(seen.trouble, kExitFailed);
  TextStyle style = style_of(stdout);
  const bool utf8 = shows_utf8();
  Screen screen;
  auto next = steady_clock::now() + kRefreshEvery;
  while (!screen.is_ended()) {
    screen.show(draw_frame(seen, screen.size(), style, utf8));
    const auto left = std::chrono::ceil<milliseconds>(next - steady_clock::now());
    const std::optional<char> key = screen.wait(std::max(left, milliseconds(0)));
    if (key == 'q') return kExitOk;
    if (key == 'p') seen.paused = !seen.paused;
    if (steady_clock::now() < next) continue;
    next = steady_clock::now() + kRefreshEvery;
    if (!seen.paused) look(admin, seen);
  }
  return kSignalExitBase + screen.ended_by();
}

int top(const TopOptions& options) {
  auto admin = AdminClient::open(options.admin);
  if (!admin) return complain(admin.error(), kExitUsage);
  if (options.as_json) return print_objects(*admin, options.once);
  if (!options.once && Screen::is_possible()) return run_screen(*admin);
  if (!options.once) {
    return complain("needs a terminal; use --once or --json elsewhere", kExitUsage);
  }
  Seen seen;
  if (!look(*admin, seen)) return complain(seen.trouble, kExitFailed);
  return print_frame(seen);
}

}  // namespace

void add_top(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("top", "Watch a gateway: rates, latencies and the latest decisions");
  command->group(kGroupOperate);
  const auto options = std::make_shared<TopOptions>();
  add_admin_options(*command, options->admin, true);
  command->add_flag("--once", options->once, "Print one frame and end");
  command->add_flag("--json", options->as_json, "Print one object per second as a line of JSON");
  command->footer(
      "Keys: p pauses and goes on, q quits.\n"
      "Exit codes: 0 done, 1 failed (no answer), 2 bad command line; 128 and the number of the "
      "signal that ended it.");
  command->callback([&run, options] { run = [options] { return top(*options); }; });
}

}  // namespace semel::cli
