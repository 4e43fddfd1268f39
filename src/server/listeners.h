#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace semel::server {

// The sockets that clients and operators connect to: those that the service manager has opened for
// this process (systemd: socket units, LISTEN_FDS), and new ones where it has opened none.
//
//   auto listeners = Listeners::take(config);
//   auto acceptor = listeners->listen(context, Listeners::kGateway, {"127.0.0.1", 8080});
class Listeners {
 public:
  // The names that sockets are passed under.
  static constexpr std::string_view kGateway = "gateway";
  static constexpr std::string_view kAdmin = "admin";
  static constexpr std::string_view kService = "service";

  // Nothing was passed.
  Listeners() = default;
  // Takes what was passed to this process; call it once. A socket is refused unless the
  // configuration has its address: what the file says is what is listened on, whoever opened it.
  // The error is a sentence for the operator.
  static std::expected<Listeners, std::string> take(const config::Config& config);
  ~Listeners();
  Listeners(Listeners&& other) noexcept = default;
  Listeners& operator=(Listeners&& other) = delete;

  // Returns a socket that listens at this address. May be called once per worker: a passed socket
  // is then shared by all; new ones each have their own queue, among which the kernel spreads the
  // connections. The error is a sentence for the operator.
  std::expected<boost::asio::ip::tcp::acceptor, std::string> listen(
      boost::asio::io_context& context, std::string_view name, const config::HostPort& at) const;

 private:
  struct Passed {
    int descriptor;
    std::string name;
    boost::asio::ip::tcp::endpoint at;
  };
  // Puts a passed socket among those of this object, or says what is wrong with it.
  std::expected<void, std::string> add(int descriptor, const std::string& name,
                                       const config::Config& config);

  std::vector<Passed> passed_;
};

}  // namespace semel::server
