#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "http/deadlines.h"
#include "http/message.h"
#include "http/tls.h"

namespace semel::http {

// Why reading or writing ended.
enum class IoError {
  closed,     // the peer closed where a message may end
  truncated,  // the peer closed or reset in the middle of a message
  timeout,    // the deadline passed
  malformed,  // what came is not valid HTTP/1
  too_large,  // the head is larger than allowed
};

template <typename T>
using IoResult = std::expected<T, IoError>;

// A TCP connection, plain or with TLS, with its unused input and the deadline of whatever it is
// doing. One reader and one writer at a time, on one worker.
class Connection final : private Deadline {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Deadlines& deadlines);

  boost::asio::ip::tcp::socket& socket() { return socket_; }
  void set_deadline(Duration from_now) { Deadline::set(from_now); }
  void clear_deadline() { Deadline::clear(); }
  bool timed_out() const { return expired(); }

  // Puts TLS over the connection, before anything was read or written, under the current deadline.
  // The error is a phrase for the log; the connection must not be used after it.
  boost::asio::awaitable<std::expected<void, std::string>> start_tls(SslPtr session);
  bool is_tls() const { return tls_ != nullptr; }
  // Returns true if the peer ended the TLS session because of our certificate, or for lack of one,
  // before it sent anything else: with TLS 1.3 that shows only after the handshake. The peer has
  // processed nothing of ours.
  bool was_refused() const { return refused_; }
  // See http::peer_name().
  std::optional<std::string> peer_name(PeerName wanted) const;

  // Reads and parses the next head. Parts of the body may be read with it, and wait in the buffer.
  // `closed`: the peer closed before the first byte of the head. `why` is set for `malformed`.
  template <bool is_request>
  boost::asio::awaitable<IoResult<void>> read_head(Message<is_request>& message,
                                                   std::size_t head_bytes_max, std::string& why);

  // Reads the next piece of the body, valid until the next call; empty when the message is
  // complete. The end of the connection ends a message only if the peer closed it: not after a
  // reset or a failed write, and over TLS only after the peer's close_notify.
  template <bool is_request>
  boost::asio::awaitable<IoResult<std::string_view>> read_piece(Message<is_request>& message);

  // Returns a piece that has already arrived, without waiting: empty if there is none (yet).
  template <bool is_request>
  IoResult<std::string_view> buffered_piece(Message<is_request>& message);

  // Writes everything. Adds to `bytes_written` also on failure: 0 means that the peer got nothing.
  boost::asio::awaitable<IoResult<void>> write(std::string_view first, std::string_view second = {},
                                               std::string_view third = {},
                                               std::size_t* bytes_written = nullptr);

  // Reads whatever comes next; valid until the next call. For protocols other than HTTP.
  boost::asio::awaitable<IoResult<std::string_view>> read_some();

  bool has_unread() const { return in_.size() > used_ || (tls_ && has_unread_tls()); }
  // Waits for the first byte of the next message. False: the peer closed, or the deadline passed.
  boost::asio::awaitable<bool> wait_readable();
  // Returns true if the peer neither closed nor sent anything: fit for another request.
  bool is_quiet();
  // Tells the peer that nothing more comes, and lets it read what was sent: closing at once would
  // discard an answer that a peer which is still sending has not read yet. So the peer may continue
  // to send for some seconds, and its bytes are discarded.
  boost::asio::awaitable<void> close_gently();
  // Ends the current wait within a tick, as if the deadline had passed.
  void give_up();
  bool is_given_up() const { return given_up_; }
  void close();
  // Closes an idle connection, and tells the peer.
  void end() {
    say_goodbye();
    close();
  }
  // Makes close() reset the connection, so that the peer cannot take what it got for everything.
  void reset_on_close();

 private:
  void expire() override;
  IoError why_ended() const;
  boost::asio::awaitable<boost::system::error_code> fill(std::size_t bytes_max);

  // Reads what has already arrived; nullopt: nothing.
  std::optional<boost::system::error_code> fill_at_once(std::size_t bytes_max);
  boost::asio::awaitable<boost::system::error_code> fill_plain(std::size_t bytes_max);
  boost::asio::awaitable<boost::system::error_code> fill_tls(std::size_t bytes_max);
  boost::asio::awaitable<boost::system::error_code> write_tls(std::string_view bytes,
                                                              std::size_t& bytes_written);
  boost::asio::awaitable<boost::system::error_code> write_tls(std::string_view first,
                                                              std::string_view second,
                                                              std::string_view third,
                                                              std::size_t& bytes_written);
  boost::asio::awaitable<boost::system::error_code> wait_for_tls(int result);
  bool is_quiet_tls();
  bool has_unread_tls() const;
  void say_goodbye();

  boost::asio::ip::tcp::socket socket_;
  SslPtr tls_;                   // null: plain
  unsigned reads_in_a_row_ = 0;  // over TLS
  bool heard_ = false;           // something was read over TLS
  bool refused_ = false;
  // A write failed. The kernel reports the reason only once; the end of the input then looks clean.
  bool broke_ = false;
  bool given_up_ = false;
  boost::beast::flat_buffer in_;
  std::size_t used_ = 0;  // bytes of in_ that belong to the piece returned last
};

}  // namespace semel::http
