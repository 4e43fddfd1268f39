#include "client/wire/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "client/wire/lookup.h"

namespace semel::client {
namespace {

using Kind = Failure::Kind;

std::unexpected<Failure> fail(Kind kind, std::string text) {
  return std::unexpected(Failure{kind, std::move(text)});
}

std::unexpected<Failure> failed_wait(Waited waited, const char* doing) {
  if (waited == Waited::stopped) return fail(Kind::stopped, "stopped");
  return fail(Kind::timeout, std::string(doing) + " took too long");
}

std::unexpected<Failure> failed_system(int error) {
  if (error == ECONNRESET || error == EPIPE) return fail(Kind::broken, "the connection was reset");
  return fail(Kind::broken, std::string("the connection failed: ") + std::strerror(error));
}

class OwnedSocket {
 public:
  explicit OwnedSocket(int socket) : socket_(socket) {}
  ~OwnedSocket() {
    if (socket_ >= 0) ::close(socket_);
  }
  OwnedSocket(const OwnedSocket&) = delete;
  OwnedSocket& operator=(const OwnedSocket&) = delete;
  int get() const { return socket_; }
  int release() { return std::exchange(socket_, -1); }

 private:
  int socket_;
};

std::expected<int, Failure> connect_to(const SocketAddress& address, const Limits& limits) {
  OwnedSocket socket(
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return fail(Kind::unreachable, std::strerror(errno));
  const auto* name = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (::connect(socket.get(), name, address.size) != 0) {
    if (errno != EINPROGRESS) return fail(Kind::unreachable, std::strerror(errno));
    const Waited waited = wait_for(socket.get(), POLLOUT, limits);
    if (waited == Waited::stopped) return failed_wait(waited, "");
    if (waited == Waited::timeout) return fail(Kind::unreachable, "connecting took too long");
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(Kind::unreachable, std::strerror(error));
  }
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket.release();
}

// Tries one address after another, each with an equal share of the time that is left.
std::expected<int, Failure> connect_to_any(const Origin& origin, const Limits& limits) {
  const auto addresses = look_up(origin, limits);
  if (!addresses) return std::unexpected(addresses.error());
  std::expected<int, Failure> socket = fail(Kind::unreachable, "there is no address");
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const auto now = std::chrono::steady_clock::now();
    const auto share = (limits.until - now) / static_cast<int>(addresses->size() - i);
    socket = connect_to((*addresses)[i], {now + share, limits.stop});
    if (socket || socket.error().kind == Kind::stopped) return socket;
  }
  socket.error().text = "no connection to " + origin.host_field() + ": " + socket.error().text;
  return socket;
}

}  // namespace

Stream::Result<std::unique_ptr<Stream>> Stream::connect(const Origin& origin, SSL_CTX* tls,
                                                        const Limits& limits) {
  const auto socket = connect_to_any(origin, limits);
  if (!socket) return std::unexpected(socket.error());
  std::unique_ptr<Stream> stream(new Stream(*socket));
  if (origin.tls) {
    if (auto done = stream->handshake(*tls, origin.host, limits); !done) {
      return std::unexpected(done.error());
    }
  }
  return stream;
}

Stream::~Stream() {
  if (session_) SSL_shutdown(session_.get());  // says goodbye, and waits for nothing
  ERR_clear_error();
  ::close(socket_);
}

bool Stream::is_quiet() const {
  pollfd one{socket_, POLLIN | POLLRDHUP, 0};
  return ::poll(&one, 1, 0) == 0;
}

Stream::Result<void> Stream::handshake(SSL_CTX& tls, const std::string& host,
                                       const Limits& limits) {
  session_ = make_tls_session(tls, socket_, host);
  if (!session_) return fail(Kind::misconfigured, take_tls_error());
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(session_.get());
    if (result == 1) return {};
    const long verified = SSL_get_verify_result(session_.get());
    const bool in_tls = SSL_get_error(session_.get(), result) == SSL_ERROR_SSL &&
                        ERR_GET_REASON(ERR_peek_last_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if (in_tls && verified != X509_V_OK) {
      return fail(Kind::misconfigured, std::string("the server's certificate is refused: ") +
                                           X509_verify_cert_error_string(verified));
    }
    if (in_tls)
      return fail(Kind::misconfigured,
                  "the server does not speak TLS with us: " + take_tls_error());
    auto waited = wait_for_tls(result, limits);
    if (!waited) {
      if (waited.error().kind == Kind::broken) waited.error().kind = Kind::unreachable;
      return waited;
    }
  }
}

Stream::Result<void> Stream::wait_for_tls(int result, const Limits& limits) {
  const int error = SSL_get_error(session_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    const short events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    const Waited waited = wait_for(socket_, events, limits);
    if (waited != Waited::ready) return failed_wait(waited, "the try");
    return {};
  }
  if (error == SSL_ERROR_SYSCALL && errno != 0) return failed_system(errno);
  if (error == SSL_ERROR_SSL &&
      ERR_GET_REASON(ERR_peek_last_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    return fail(Kind::broken, "TLS broke: " + take_tls_error());
  }
  ERR_clear_error();
  return fail(Kind::broken, "the connection was closed in the middle");
}

Stream::Result<std::size_t> Stream::write(std::string_view bytes, const Limits& limits) {
  for (;;) {
    if (session_) {
      ERR_clear_error();
      std::size_t sent = 0;
      const int result = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
      if (result == 1) return sent;
      if (auto waited = wait_for_tls(result, limits); !waited)
        return std::unexpected(waited.error());
      continue;
    }
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) return static_cast<std::size_t>(sent);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return failed_system(errno);
    const Waited waited = wait_for(socket_, POLLOUT, limits);
    if (waited != Waited::ready) return failed_wait(waited, "sending");
  }
}

Stream::Result<std::size_t> Stream::read(char* into, std::size_t size, const Limits& limits) {
  for (;;) {
    if (session_) {
      ERR_clear_error();
      std::size_t got = 0;
      const int result = SSL_read_ex(session_.get(), into, size, &got);
      if (result == 1) return got;
      if (SSL_get_error(session_.get(), result) == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
      if (auto waited = wait_for_tls(result, limits); !waited)
        return std::unexpected(waited.error());
      continue;
    }
    const auto got = ::recv(socket_, into, size, 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return failed_system(errno);
    const Waited waited = wait_for(socket_, POLLIN, limits);
    if (waited != Waited::ready) return failed_wait(waited, "the answer");
  }
}

}  // namespace semel::client
