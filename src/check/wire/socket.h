#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "check/wire/target.h"

namespace semel::check {

using Deadline = std::chrono::steady_clock::time_point;

struct TlsOptions {
  bool verify = true;
  std::string authorities;  // a PEM file; "": those of the system
};

// Settings for TLS connections, made once. Throws std::runtime_error if the file cannot be used.
class TlsSettings {
 public:
  explicit TlsSettings(const TlsOptions& options);
  SSL_CTX* get() const { return context_.get(); }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

// A connection whose calls block until they are done or the deadline has passed. Errors say what
// happened. An interrupted call goes on, so that a signal is dealt with between exchanges.
class Socket {
 public:
  static std::expected<Socket, std::string> connect(const Target& target, const TlsSettings& tls,
                                                    Deadline deadline);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  std::expected<void, std::string> send(std::string_view bytes, Deadline deadline);
  // Returns the number of bytes received; 0: the peer has ended the connection.
  std::expected<std::size_t, std::string> receive(char* into, std::size_t size, Deadline deadline);
  // Returns whether something can be received within this time.
  bool has_data(std::chrono::milliseconds within) const;

  void close();  // with a FIN
  void reset();  // with a RST

 private:
  explicit Socket(int fd) : fd_(fd) {}
  std::expected<void, std::string> start_tls(const Target& target, const TlsSettings& settings,
                                             Deadline deadline);
  std::expected<void, std::string> wait(short events, Deadline deadline) const;
  std::expected<void, std::string> wait_for_tls(int result, Deadline deadline);

  int fd_ = -1;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, SSL_free};
};

}  // namespace semel::check
