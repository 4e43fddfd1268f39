#include "runtime/limits/spare_descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace semel::runtime {
namespace {

constexpr int kPiecesMax = 16;  // of the bytes that a client has sent already
constexpr std::string_view kNoRoom =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
    "Connection: close\r\n\r\n";

int duplicate(int descriptor) {
  return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

}  // namespace

SpareDescriptor::SpareDescriptor()
    : null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)), spare_(duplicate(null_)) {}

SpareDescriptor::~SpareDescriptor() {
  if (spare_ >= 0) ::close(spare_);
  if (null_ >= 0) ::close(null_);
}

bool SpareDescriptor::turn_away(int listener, bool is_plain) {
  const std::lock_guard lock(mutex_);
  if (spare_ >= 0) ::close(spare_);
  const int client = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client < 0) {
    spare_ = duplicate(null_);
    return false;
  }
  if (is_plain) {
    // Discards the bytes that have arrived: otherwise closing would reset the connection and lose
    // the answer.
    char rest[4096];
    for (int pieces = 0; pieces < kPiecesMax; ++pieces) {
      if (::recv(client, rest, sizeof rest, MSG_DONTWAIT) != sizeof rest) break;
    }
    static_cast<void>(::send(client, kNoRoom.data(), kNoRoom.size(), MSG_NOSIGNAL));
  }
  // Also closes the client's connection. Its number is never free in between: a client that sees
  // the end of this connection may come again at once, and would get it.
  spare_ = ::dup3(null_, client, O_CLOEXEC);
  if (spare_ < 0) ::close(client);
  return true;
}

void SpareDescriptor::regain() {
  if (spare_ >= 0) return;
  const std::lock_guard lock(mutex_);
  if (spare_ < 0) spare_ = duplicate(null_);
}

}  // namespace semel::runtime
