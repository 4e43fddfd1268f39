// The parts of Connection that speak TLS. OpenSSL works directly on the socket, which is set not to
// block; where it would block, the coroutine waits until the socket is ready and calls again.
//
// OpenSSL knows the socket by its descriptor, which may belong to another connection as soon as
// this one is closed: nothing may be called on a session whose socket is not open.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/connection.h"

namespace semel::http {
namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;

namespace {

// Pieces of one write that are together no larger than this are sent as one record.
constexpr std::size_t kJoinedBytesMax = 16 * 1024;
// After this many reads in a row that found something at once, others get their turn.
constexpr unsigned kReadsInARowMax = 16;

// Keeps sizes within OpenSSL's int.
constexpr std::size_t kCallBytesMax = 1 << 20;

// Returns true for alerts that a server sends while it checks the client's certificate, and at no
// other time.
bool is_about_our_certificate(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return false;
  switch (ERR_GET_REASON(error)) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

int call_bytes(std::size_t bytes) {
  return static_cast<int>(std::min(bytes, kCallBytesMax));
}

}  // namespace

// Waits for what the last call on the session, which returned `result`, needs. An error means that
// the call cannot be repeated; `eof` exactly if the peer announced the end.
awaitable<error_code> Connection::wait_for_tls(int result) {
  error_code error;
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      co_await socket_.async_wait(asio::socket_base::wait_read,
                                  asio::redirect_error(asio::use_awaitable, error));
      co_return error;
    case SSL_ERROR_WANT_WRITE:
      co_await socket_.async_wait(asio::socket_base::wait_write,
                                  asio::redirect_error(asio::use_awaitable, error));
      co_return error;
    case SSL_ERROR_ZERO_RETURN:
      co_return asio::error::eof;
    default:
      if (!heard_ && is_about_our_certificate(ERR_peek_error())) refused_ = true;
      // Also for an end without close_notify: anybody on the way could have caused it.
      co_return asio::error::connection_reset;
  }
}

awaitable<std::expected<void, std::string>> Connection::start_tls(SslPtr session) {
  error_code error;
  socket_.native_non_blocking(true, error);
  tls_ = std::move(session);
  if (error || SSL_set_fd(tls_.get(), socket_.native_handle()) != 1) {
    co_return std::unexpected("the socket cannot be used");
  }
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(tls_.get());
    if (result == 1) co_return std::expected<void, std::string>{};
    // Composed before the wait, because others use the error queue meanwhile.
    const bool waits = SSL_want(tls_.get()) != SSL_NOTHING;
    std::string why = waits ? "the connection ended" : "TLS: " + tls_failure(*tls_);
    if (co_await wait_for_tls(result)) {
      if (timed_out()) why = "the TLS handshake took too long";
      co_return std::unexpected(std::move(why));
    }
  }
}

awaitable<error_code> Connection::fill_tls(std::size_t bytes_max) {
  if (++reads_in_a_row_ > kReadsInARowMax) {
    reads_in_a_row_ = 0;
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
  }
  for (;;) {
    if (!socket_.is_open()) co_return asio::error::bad_descriptor;
    const auto room = in_.prepare(bytes_max);
    ERR_clear_error();
    const int n = SSL_read(tls_.get(), room.data(), call_bytes(room.size()));
    if (n > 0) {
      heard_ = true;
      in_.commit(static_cast<std::size_t>(n));
      co_return error_code{};
    }
    reads_in_a_row_ = 0;
    const error_code error = co_await wait_for_tls(n);
    if (error) co_return error;
  }
}

awaitable<error_code> Connection::write_tls(std::string_view bytes, std::size_t& bytes_written) {
  while (!bytes.empty()) {
    if (!socket_.is_open()) co_return asio::error::bad_descriptor;
    ERR_clear_error();
    const int n = SSL_write(tls_.get(), bytes.data(), call_bytes(bytes.size()));
    if (n > 0) {
      bytes_written += static_cast<std::size_t>(n);
      bytes.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    const error_code error = co_await wait_for_tls(n);
    if (error) co_return error;
  }
  co_return error_code{};
}

awaitable<error_code> Connection::write_tls(std::string_view first, std::string_view second,
                                            std::string_view third, std::size_t& bytes_written) {
  if (first.size() + second.size() + third.size() <= kJoinedBytesMax) {
    std::string joined;
    joined.reserve(first.size() + second.size() + third.size());
    joined.append(first).append(second).append(third);
    co_return co_await write_tls(joined, bytes_written);
  }
  for (const std::string_view part : {first, second, third}) {
    const error_code error = co_await write_tls(part, bytes_written);
    if (error) co_return error;
  }
  co_return error_code{};
}

bool Connection::is_quiet_tls() {
  if (!socket_.is_open()) return false;
  // Also takes in session tickets and the like, which are not messages of the peer.
  char byte;
  ERR_clear_error();
  const int n = SSL_peek(tls_.get(), &byte, 1);
  return n <= 0 && SSL_get_error(tls_.get(), n) == SSL_ERROR_WANT_READ;
}

void Connection::say_goodbye() {
  if (!tls_ || !socket_.is_open()) return;
  ERR_clear_error();
  if (SSL_is_init_finished(tls_.get())) SSL_shutdown(tls_.get());
  ERR_clear_error();
}

std::optional<std::string> Connection::peer_name(PeerName wanted) const {
  return tls_ ? http::peer_name(*tls_, wanted) : std::nullopt;
}

bool Connection::has_unread_tls() const {
  return SSL_pending(tls_.get()) > 0;
}

}  // namespace semel::http
