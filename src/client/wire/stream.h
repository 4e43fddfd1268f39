#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string_view>

#include "client/wire/failure.h"
#include "client/wire/tls.h"
#include "client/wire/url.h"
#include "client/wire/wait.h"

namespace semel::client {

// A connection to a server, in clear text or by TLS. One thread at a time; calls end with their
// limits.
class Stream {
 public:
  template <class T>
  using Result = std::expected<T, Failure>;

  // `tls` is used if the origin asks for it.
  static Result<std::unique_ptr<Stream>> connect(const Origin& origin, SSL_CTX* tls,
                                                 const Limits& limits);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Returns how many bytes were sent, at least one.
  Result<std::size_t> write(std::string_view bytes, const Limits& limits);
  // Returns how many bytes came; 0: the server has ended the connection.
  Result<std::size_t> read(char* into, std::size_t size, const Limits& limits);

  // Nothing has come since the last answer, and the server has not closed the connection.
  bool is_quiet() const;

 private:
  explicit Stream(int socket) : socket_(socket) {}
  Result<void> handshake(SSL_CTX& tls, const std::string& host, const Limits& limits);
  // Waits for what OpenSSL asked for. Fails if it cannot go on.
  Result<void> wait_for_tls(int result, const Limits& limits);

  const int socket_;
  TlsSession session_;
};

}  // namespace semel::client
