#include "stores/redis_harness.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace semel::stores {

resp::RespReply in_redis(const RedisAddress& server,
                         std::initializer_list<std::string_view> command) {
  namespace asio = boost::asio;
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  socket.connect({asio::ip::make_address(server.host), server.port});
  asio::write(socket, asio::buffer(resp::resp_command(command)));
  resp::RespReader reader;
  for (;;) {
    char bytes[4096];
    const std::size_t n = socket.read_some(asio::buffer(bytes));
    reader.feed({bytes, n});
    auto reply = reader.next();
    if (!reply) throw std::runtime_error(reply.error());
    if (*reply) return std::move(**reply);
  }
}

void empty_redis(const RedisConfig& config) {
  std::vector<RedisAddress> servers = config.cluster;
  if (servers.empty()) servers.push_back(parse_redis_url(config.url).value().address);
  for (const RedisAddress& server : servers) {
    const resp::RespReply reply = in_redis(server, {"FLUSHALL"});
    if (reply.is_error()) throw std::runtime_error(std::string(reply.text()));
  }
}

}  // namespace semel::stores
