#include "server/service_manager.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "telemetry/log.h"

namespace semel::server {
namespace {

constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};

// A path, or a name that begins with "@": that of a socket which no file stands for. Returns 0 or
// what errno said.
int send_to(const std::string& name, const std::string& message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  const int sender = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (sender < 0) return errno;
  ::setsockopt(sender, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const ssize_t sent = ::sendto(sender, message.data(), message.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  const int failed = sent < 0 ? errno : 0;
  ::close(sender);
  return failed;
}

void tell(const std::string& message) {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0') return;
  if (const int failed = send_to(name, message); failed != 0) {
    telemetry::log_event(config::LogLevel::warn, "the service manager could not be told",
                         {{"socket", name}, {"why", std::strerror(failed)}});
  }
}

// On the clock of CLOCK_MONOTONIC, which steady_clock is on Linux. By it the service manager tells
// this reload from the one before.
std::string monotonic_microseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

void tell_status(const std::string& status) {
  tell("STATUS=" + status);
}

void tell_ready(const std::string& status) {
  tell("READY=1\nSTATUS=" + status);
}

void tell_reloading() {
  tell("RELOADING=1\nMONOTONIC_USEC=" + monotonic_microseconds() +
       "\nSTATUS=Loading the configuration again");
}

void tell_stopping(const std::string& status) {
  tell("STOPPING=1\nSTATUS=" + status);
}

}  // namespace semel::server
