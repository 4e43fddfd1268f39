#include "check/wire/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace semel::check {
namespace {

std::unexpected<std::string> failed_call(int error) {
  return std::unexpected(std::string(std::strerror(error)));
}

std::string tls_error(const SSL* tls) {
  if (const long verified = SSL_get_verify_result(tls); verified != X509_V_OK) {
    return std::string("the certificate is not trusted: ") +
           X509_verify_cert_error_string(verified);
  }
  char text[256] = "the TLS connection broke";
  if (const unsigned long error = ERR_get_error(); error != 0) {
    ERR_error_string_n(error, text, sizeof text);
  }
  return text;
}

int open_socket(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  // A race is decided by single bytes: none may wait for company.
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

}  // namespace

TlsSettings::TlsSettings(const TlsOptions& options)
    : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
  if (!context_) throw std::runtime_error("OpenSSL has no TLS client");
  SSL_CTX_set_mode(get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(get(), options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (options.authorities.empty()) {
    SSL_CTX_set_default_verify_paths(get());
  } else if (SSL_CTX_load_verify_file(get(), options.authorities.c_str()) != 1) {
    throw std::runtime_error(options.authorities +
                             ": no certificates of authorities in PEM format");
  }
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), tls_(std::move(other.tls_)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    tls_ = std::move(other.tls_);
  }
  return *this;
}

Socket::~Socket() {
  close();
}

std::expected<Socket, std::string> Socket::connect(const Target& target, const TlsSettings& tls,
                                                   Deadline deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found);
  if (result != 0) return std::unexpected(std::string(gai_strerror(result)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::expected<void, std::string> trouble;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Socket socket(open_socket(*one));
    if (socket.fd_ < 0) return failed_call(errno);
    if (::connect(socket.fd_, one->ai_addr, one->ai_addrlen) != 0 && errno != EINPROGRESS) {
      trouble = failed_call(errno);
      continue;
    }
    trouble = socket.wait(POLLOUT, deadline);
    if (!trouble) continue;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      trouble = failed_call(error);
      continue;
    }
    if (target.tls) trouble = socket.start_tls(target, tls, deadline);
    if (trouble) return socket;
  }
  return std::unexpected(trouble ? "no address" : trouble.error());
}

std::expected<void, std::string> Socket::start_tls(const Target& target,
                                                   const TlsSettings& settings, Deadline deadline) {
  tls_.reset(SSL_new(settings.get()));
  if (!tls_) return std::unexpected("OpenSSL has no memory");
  SSL_set_fd(tls_.get(), fd_);
  X509_VERIFY_PARAM* names = SSL_get0_param(tls_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(names, target.host.c_str()) != 1) {
    SSL_set1_host(tls_.get(), target.host.c_str());
    SSL_set_tlsext_host_name(tls_.get(), target.host.c_str());
  }
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(tls_.get());
    if (result == 1) return {};
    if (auto waited = wait_for_tls(result, deadline); !waited) return waited;
  }
}

std::expected<void, std::string> Socket::wait(short events, Deadline deadline) const {
  using namespace std::chrono;
  pollfd one{.fd = fd_, .events = events, .revents = 0};
  for (;;) {
    const auto left = ceil<milliseconds>(deadline - steady_clock::now()).count();
    const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return {};
    if (ready == 0) return std::unexpected("nothing came in time");
    if (errno != EINTR) return failed_call(errno);
  }
}

std::expected<void, std::string> Socket::wait_for_tls(int result, Deadline deadline) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT, deadline);
    default:
      return std::unexpected(tls_error(tls_.get()));
  }
}

std::expected<void, std::string> Socket::send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    ssize_t sent = 0;
    if (tls_) {
      ERR_clear_error();
      sent = SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
      if (sent <= 0) {
        auto waited = wait_for_tls(static_cast<int>(sent), deadline);
        if (!waited) return waited;
        continue;
      }
    } else {
      sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno != EAGAIN && errno != EINTR) return failed_call(errno);
        if (auto waited = wait(POLLOUT, deadline); !waited) return waited;
        continue;
      }
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

std::expected<std::size_t, std::string> Socket::receive(char* into, std::size_t size,
                                                        Deadline deadline) {
  for (;;) {
    if (tls_) {
      ERR_clear_error();
      const int got = SSL_read(tls_.get(), into, static_cast<int>(size));
      if (got > 0) return static_cast<std::size_t>(got);
      if (SSL_get_error(tls_.get(), got) == SSL_ERROR_ZERO_RETURN) return 0;
      if (auto waited = wait_for_tls(got, deadline); !waited)
        return std::unexpected(waited.error());
      continue;
    }
    const ssize_t got = ::recv(fd_, into, size, 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EAGAIN && errno != EINTR) return failed_call(errno);
    if (auto waited = wait(POLLIN, deadline); !waited) return std::unexpected(waited.error());
  }
}

bool Socket::has_data(std::chrono::milliseconds within) const {
  if (tls_ && SSL_pending(tls_.get()) > 0) return true;
  return wait(POLLIN, std::chrono::steady_clock::now() + within).has_value();
}

void Socket::close() {
  tls_.reset();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Socket::reset() {
  if (fd_ < 0) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

}  // namespace semel::check
