#include "cli/server_process.h"

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"

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

void announce_ready(boost::asio::io_context& context, const std::string& status) {
  std::puts("ready");
  std::fflush(stdout);
  boost::asio::post(context, [status] { server::tell_ready(status); });
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
