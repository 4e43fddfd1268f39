#include "server/listeners.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

namespace semel::server {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr int kFirstPassed = 3;  // sd_listen_fds(3)
constexpr int kPassedMax = 256;

using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

// 0: the variable is missing, or is no number.
int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  int number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

std::vector<std::string> names_in(const char* variable) {
  std::vector<std::string> names;
  const char* const text = std::getenv(variable);
  std::istringstream list(text == nullptr ? "" : text);
  for (std::string name; std::getline(list, name, ':');) names.push_back(name);
  return names;
}

tcp::endpoint endpoint_of(const config::HostPort& at) {
  return {asio::ip::make_address(at.host), at.port};
}

std::string text_of(const tcp::endpoint& at) {
  std::ostringstream text;
  text << at;
  return text.str();
}

// nullopt: this is no TCP socket that listens.
std::optional<tcp::endpoint> listens_at(int descriptor) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
    return std::nullopt;
  }
  tcp::endpoint at;
  socklen_t length = static_cast<socklen_t>(at.capacity());
  if (::getsockname(descriptor, at.data(), &length) != 0) return std::nullopt;
  const int family = at.data()->sa_family;
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  at.resize(length);
  return at;
}

bool has_address(const config::Config& config, std::string_view name, const tcp::endpoint& at) {
  if (name == Listeners::kAdmin) return endpoint_of(config.admin.listen) == at;
  if (name == Listeners::kService) {
    return config.service && endpoint_of(config.service->listen) == at;
  }
  return std::ranges::any_of(
      config.listen, [&at](const config::HostPort& address) { return endpoint_of(address) == at; });
}

}  // namespace

std::expected<void, std::string> Listeners::add(int descriptor, const std::string& name,
                                                const config::Config& config) {
  const std::string passed = "the service manager passed the socket '" + name + "'";
  const std::optional<tcp::endpoint> at = listens_at(descriptor);
  if (!at) return std::unexpected(passed + ", which is not a TCP socket that listens");
  if (name != kGateway && name != kAdmin && name != kService) {
    return std::unexpected(passed + " on " + text_of(*at) +
                           ": set FileDescriptorName= in its unit to gateway, admin or service");
  }
  if (!has_address(config, name, *at)) {
    return std::unexpected(
        passed + " on " + text_of(*at) + ", but " + config.file + " has " +
        (name == kGateway ? "no such address in listen" : "another " + name + ".listen") +
        ": make the file and ListenStream= agree");
  }
  if (std::ranges::any_of(passed_, [&](const Passed& one) { return one.at == *at; })) {
    return std::unexpected(passed + " on " + text_of(*at) + " twice");
  }
  passed_.push_back({descriptor, name, *at});
  return {};
}

std::expected<Listeners, std::string> Listeners::take(const config::Config& config) {
  Listeners listeners;
  if (number_in("LISTEN_PID") != ::getpid()) return listeners;  // they were another process's
  const int count = number_in("LISTEN_FDS");
  std::vector<std::string> names = names_in("LISTEN_FDNAMES");
  if (count < 0 || count > kPassedMax) {
    return std::unexpected("LISTEN_FDS is " + std::to_string(count) + ", which cannot be");
  }
  names.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int descriptor = kFirstPassed + i;
    if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
      return std::unexpected("LISTEN_FDS is " + std::to_string(count) + ", but descriptor " +
                             std::to_string(descriptor) + " is not open");
    }
    auto added = listeners.add(descriptor, names[static_cast<std::size_t>(i)], config);
    if (!added) return std::unexpected(std::move(added.error()));
  }
  return listeners;
}

Listeners::~Listeners() {
  for (const Passed& one : passed_) ::close(one.descriptor);
}

std::expected<tcp::acceptor, std::string> Listeners::listen(asio::io_context& context,
                                                            std::string_view name,
                                                            const config::HostPort& at) const {
  const tcp::endpoint endpoint = endpoint_of(at);
  const auto passed = std::ranges::find_if(
      passed_, [&](const Passed& one) { return one.name == name && one.at == endpoint; });
  boost::system::error_code error;
  tcp::acceptor acceptor(context);
  if (passed != passed_.end()) {
    const int own = ::fcntl(passed->descriptor, F_DUPFD_CLOEXEC, 0);
    if (own < 0) error.assign(errno, boost::system::system_category());
    if (!error) acceptor.assign(endpoint.protocol(), own, error);
  } else {
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && name != kAdmin) acceptor.set_option(ReusePort(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  }
  if (!error) return acceptor;
  return std::unexpected("cannot listen on " + at.host + ":" + std::to_string(at.port) +
                         (name == kGateway ? "" : " (" + std::string(name) + ")") + ": " +
                         error.message());
}

}  // namespace semel::server
