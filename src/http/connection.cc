#include "http/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>

#include "http/head_scan.h"

namespace semel::http {
namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;

namespace {
constexpr std::size_t kReadBytes = 4 * 1024;         // a head and a small body
constexpr std::size_t kStreamReadBytes = 64 * 1024;  // the rest of a large body
// Limits a chunk's size line, and all trailers together.
constexpr std::size_t kChunkLineBytesMax = 16 * 1024;
constexpr std::size_t kIdleBufferBytesMax = 16 * 1024;
// How long to wait, after the answer, for a peer that still sends: in total, and without receiving
// a byte. Its bytes are read no faster than kLingerBytesPerTick per tick, since nobody needs them.
constexpr Duration kLinger = std::chrono::seconds(5);
constexpr Duration kLingerSilent = std::chrono::seconds(2);
constexpr Duration kLingerTick = std::chrono::milliseconds(20);
constexpr std::size_t kLingerBytesPerTick = 512 * 1024;

std::string_view view(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

// Checks the end of a chunked body: the line end of the last data, the last size, the trailers. The
// parser accepts folded trailers, but other parsers on the way might take the fold for the end.
bool is_sound_end(std::string_view bytes) {
  if (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  HeadScan scan;
  const auto state = scan.scan(bytes);
  const auto* done = std::get_if<HeadScan::Done>(&state);
  return done && done->head_bytes == bytes.size();
}

// Lets everything else that is ready run first. A peer that was just written to has not answered
// yet; after the others had their turn it often has, and a read that would find nothing is saved.
auto others_first(asio::ip::tcp::socket& socket) {
  return asio::post(socket.get_executor(), asio::use_awaitable);
}

// Sends what the kernel takes at once, and cuts it off the front of `pieces`. Returns the number of
// bytes sent; 0 also if the connection is broken, which the next wait on it reports.
std::size_t send_at_once(int descriptor, std::array<std::string_view, 3>& pieces) {
  std::array<iovec, 3> parts;
  std::size_t count = 0;
  for (const std::string_view piece : pieces) {
    if (piece.empty()) continue;
    parts[count++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t n = ::sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n <= 0) return 0;
  auto left = static_cast<std::size_t>(n);
  for (std::string_view& piece : pieces) {
    const std::size_t taken = std::min(left, piece.size());
    piece.remove_prefix(taken);
    left -= taken;
  }
  return static_cast<std::size_t>(n);
}
}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, Deadlines& deadlines)
    : Deadline(deadlines), socket_(std::move(socket)) {}

void Connection::expire() {
  error_code ignored;
  socket_.cancel(ignored);
}

// Closed and reset are the same to the caller: nothing more will come.
IoError Connection::why_ended() const {
  return timed_out() ? IoError::timeout : IoError::truncated;
}

awaitable<error_code> Connection::fill(std::size_t bytes_max) {
  if (tls_) return fill_tls(bytes_max);
  return fill_plain(bytes_max);
}

awaitable<error_code> Connection::fill_plain(std::size_t bytes_max) {
  error_code error;
  auto room = in_.prepare(bytes_max);
  const std::size_t n =
      co_await socket_.async_read_some(room, asio::redirect_error(asio::use_awaitable, error));
  in_.commit(n);
  co_return error;
}

// Call only after others_first(): a peer that never stops sending would keep the thread.
std::optional<error_code> Connection::fill_at_once(std::size_t bytes_max) {
  if (tls_ || timed_out()) return std::nullopt;
  auto room = in_.prepare(bytes_max);
  const ssize_t n = ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
  if (n < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::nullopt;
    broke_ = true;
    return error_code(errno, boost::system::system_category());
  }
  if (n == 0) return error_code(asio::error::eof);
  in_.commit(static_cast<std::size_t>(n));
  return error_code{};
}

awaitable<IoResult<std::string_view>> Connection::read_some() {
  in_.consume(std::exchange(used_, 0));
  if (in_.size() == 0) {
    const error_code error = co_await fill(kStreamReadBytes);
    if (error == asio::error::eof) co_return std::unexpected(IoError::closed);
    if (error) co_return std::unexpected(why_ended());
  }
  used_ = in_.size();
  co_return view(in_);
}

template <bool is_request>
awaitable<IoResult<void>> Connection::read_head(Message<is_request>& message,
                                                std::size_t head_bytes_max, std::string& why) {
  in_.consume(std::exchange(used_, 0));
  if (in_.size() == 0) {
    co_await others_first(socket_);
    if (fill_at_once(kReadBytes) == error_code(asio::error::eof)) {
      co_return std::unexpected(IoError::closed);
    }
  }
  HeadScan scan;
  for (;;) {
    const auto state = scan.scan(view(in_).substr(0, head_bytes_max));
    if (const auto* bad = std::get_if<HeadScan::Bad>(&state)) {
      why = bad->why;
      co_return std::unexpected(IoError::malformed);
    }
    if (const auto* done = std::get_if<HeadScan::Done>(&state)) {
      if (auto wrong = message.parse_head(view(in_).substr(0, done->head_bytes))) {
        why = std::move(*wrong);
        co_return std::unexpected(IoError::malformed);
      }
      in_.consume(done->head_bytes);
      co_return IoResult<void>{};
    }
    if (in_.size() >= head_bytes_max) co_return std::unexpected(IoError::too_large);
    const error_code error = co_await fill(kReadBytes);
    if (error) {
      if (in_.size() == 0 && !timed_out()) co_return std::unexpected(IoError::closed);
      co_return std::unexpected(why_ended());
    }
  }
}

template <bool is_request>
IoResult<std::string_view> Connection::buffered_piece(Message<is_request>& message) {
  in_.consume(std::exchange(used_, 0));
  while (!message.is_done() && in_.size() > 0) {
    boost::beast::error_code error;
    const std::size_t used = message.put(in_.data(), error);
    if (error && error != boost::beast::http::error::need_more) {
      return std::unexpected(IoError::malformed);
    }
    const std::string_view piece = message.take_piece();
    if (message.is_done() && message.chunked() && !is_sound_end(view(in_).substr(0, used))) {
      return std::unexpected(IoError::malformed);
    }
    if (!piece.empty()) {
      used_ = used;
      return piece;
    }
    in_.consume(used);
    if (error && in_.size() > kChunkLineBytesMax) return std::unexpected(IoError::malformed);
    if (error) break;
  }
  return std::string_view{};
}

template <bool is_request>
awaitable<IoResult<std::string_view>> Connection::read_piece(Message<is_request>& message) {
  for (;;) {
    IoResult<std::string_view> piece = buffered_piece(message);
    if (!piece || !piece->empty() || message.is_done()) co_return piece;
    const error_code error = co_await fill(kStreamReadBytes);
    if (!error) continue;
    if (error != asio::error::eof || broke_) co_return std::unexpected(why_ended());
    boost::beast::error_code cut;
    message.put_eof(cut);
    if (cut) co_return std::unexpected(IoError::truncated);
  }
}

awaitable<IoResult<void>> Connection::write(std::string_view first, std::string_view second,
                                            std::string_view third, std::size_t* bytes_written) {
  error_code error;
  if (tls_) {
    std::size_t n = 0;
    error = co_await write_tls(first, second, third, n);
    if (bytes_written) *bytes_written += n;
    broke_ = broke_ || error;
    if (error) co_return std::unexpected(why_ended());
    co_return IoResult<void>{};
  }
  // The kernel nearly always has room for all of it.
  const std::size_t all = first.size() + second.size() + third.size();
  std::array<std::string_view, 3> rest = {first, second, third};
  const std::size_t sent = all == 0 ? 0 : send_at_once(socket_.native_handle(), rest);
  if (bytes_written) *bytes_written += sent;
  if (sent == all) co_return IoResult<void>{};
  const std::array<asio::const_buffer, 3> buffers = {asio::buffer(rest[0]), asio::buffer(rest[1]),
                                                     asio::buffer(rest[2])};
  const std::size_t n = co_await asio::async_write(
      socket_, buffers, asio::redirect_error(asio::use_awaitable, error));
  if (bytes_written) *bytes_written += n;
  broke_ = broke_ || error;
  if (error) co_return std::unexpected(why_ended());
  co_return IoResult<void>{};
}

awaitable<bool> Connection::wait_readable() {
  in_.consume(std::exchange(used_, 0));
  if (in_.size() > 0) co_return true;
  // An idle connection must not keep the buffer that a large message needed.
  if (in_.capacity() > kIdleBufferBytesMax) in_ = {};
  co_await others_first(socket_);
  if (const auto arrived = fill_at_once(kReadBytes)) co_return !*arrived;
  if (given_up_) co_return false;
  co_return !co_await fill(kReadBytes);
}

bool Connection::is_quiet() {
  if (in_.size() > used_) return false;
  if (tls_) return is_quiet_tls();
  char byte;
  const ssize_t n = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void Connection::give_up() {
  given_up_ = true;
  set_deadline(Duration{0});
}

// Limited by time, not by size: a large body takes as long as its client's line is slow.
awaitable<void> Connection::close_gently() {
  error_code error;
  say_goodbye();
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  const auto begun = last_tick();
  std::size_t seen = 0;
  while (!error && !given_up_) {
    const auto elapsed = std::chrono::duration_cast<Duration>(last_tick() - begun);
    if (elapsed >= kLinger) break;
    if (seen > kLingerBytesPerTick * static_cast<std::size_t>(elapsed / kLingerTick + 1)) {
      asio::steady_timer pause(socket_.get_executor(), kLingerTick);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    set_deadline(std::min(kLingerSilent, kLinger - elapsed));
    in_.clear();
    error = co_await fill_plain(kStreamReadBytes);
    seen += in_.size();
  }
  close();
}

void Connection::reset_on_close() {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
}

void Connection::close() {
  clear_deadline();
  error_code ignored;
  socket_.close(ignored);
}

template awaitable<IoResult<void>> Connection::read_head<true>(Request&, std::size_t, std::string&);
template awaitable<IoResult<void>> Connection::read_head<false>(Response&, std::size_t,
                                                                std::string&);
template awaitable<IoResult<std::string_view>> Connection::read_piece<true>(Request&);
template awaitable<IoResult<std::string_view>> Connection::read_piece<false>(Response&);
template IoResult<std::string_view> Connection::buffered_piece<true>(Request&);
template IoResult<std::string_view> Connection::buffered_piece<false>(Response&);

}  // namespace semel::http
