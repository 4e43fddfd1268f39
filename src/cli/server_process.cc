#include "cli/server_process.h"

#include <boost/asio/co_spawn.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"
#include "engine/spawn.h"

namespace semel::cli {

void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void announce(const char* what, const config::HostPort& at) {
  const bool v6 = at.host.find(':') != std::string::npos;
  std::printf("listening %s %s%s%s:%u\n", what, v6 ? "[" : "", at.host.c_str(), v6 ? "]" : "",
              at.port);
}

void announce_ready(server::Process& process, const std::string& status) {
  std::fflush(stdout);
  auto announcing = [&process, status]() -> boost::asio::awaitable<void> {
    co_await process.store_tried();
    std::puts("ready");
    for (const std::string& refused : process.refused_work()) std::puts(refused.c_str());
    std::fflush(stdout);
    server::tell_ready(status);
  };
  boost::asio::co_spawn(process.context(), announcing, engine::OrStop{"announcing"});
}

int fail(const std::string& why) {
  return complain(why, kExitFailed);
}

int end(server::Process& process) {
  telemetry::flush_log();
  // A store that has stopped is not closed: closing would sync again what failed to be synced.
  if (process.services().store.trouble()) std::_Exit(kExitOk);
  return kExitOk;
}

}  // namespace semel::cli
