#include "client/wire/lookup.h"

#include <netdb.h>
#include <poll.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/wakeup.h"

namespace semel::client {
namespace {

struct Found {
  int error = 0;
  std::vector<SocketAddress> addresses;
};

Found ask_system(const std::string& host, const std::string& port, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  Found found;
  found.error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &list);
  if (found.error != 0) return found;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    SocketAddress address;
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
    found.addresses.push_back(address);
  }
  ::freeaddrinfo(list);
  return found;
}

// Shared by the caller and the thread, whichever ends last.
struct Asked {
  std::mutex mutex;
  Found found;
  base::Wakeup done;
};

std::shared_ptr<Asked> ask_aside(const std::string& host, const std::string& port) {
  auto asked = std::make_shared<Asked>();
  std::thread([asked, host, port] {
    Found result = ask_system(host, port, AI_ADDRCONFIG);
    const std::lock_guard lock(asked->mutex);
    asked->found = std::move(result);
    asked->done.signal();
  }).detach();
  return asked;
}

}  // namespace

std::expected<std::vector<SocketAddress>, Failure> look_up(const Origin& origin,
                                                           const Limits& limits) {
  const std::string port = std::to_string(origin.port);
  Found found = ask_system(origin.host, port, AI_NUMERICHOST);
  if (found.error == 0) return std::move(found.addresses);
  std::shared_ptr<Asked> asked;
  try {
    asked = ask_aside(origin.host, port);
  } catch (const std::system_error& error) {  // no descriptor or thread left
    return std::unexpected(Failure{Failure::Kind::unreachable, error.what()});
  }
  const Waited waited = wait_for(asked->done.descriptor(), POLLIN, limits);
  if (waited == Waited::stopped) return std::unexpected(Failure{Failure::Kind::stopped, "stopped"});
  if (waited == Waited::timeout) {
    return std::unexpected(
        Failure{Failure::Kind::unreachable, "looking up " + origin.host + " took too long"});
  }
  const std::lock_guard lock(asked->mutex);
  if (asked->found.error == 0) return std::move(asked->found.addresses);
  const bool absent = asked->found.error == EAI_NONAME;
  return std::unexpected(Failure{absent ? Failure::Kind::misconfigured : Failure::Kind::unreachable,
                                 origin.host + ": " + ::gai_strerror(asked->found.error)});
}

}  // namespace semel::client
