#include "cli/demo/client.h"

#include <boost/beast/http.hpp>

#include "cli/http_client.h"

namespace semel::cli {
namespace {

namespace beast_http = boost::beast::http;

// The demo's payments take no longer than a second.
constexpr auto kGatewayTimeout = std::chrono::seconds(30);

}  // namespace

DemoAnswer post_charge(const DemoRequest& request) {
  HttpRequest message(beast_http::verb::post, "/v1/charges", 11);
  message.set(beast_http::field::content_type, "application/json");
  message.set("Idempotency-Key", "\"" + request.key + "\"");
  message.body() = request.body;
  const auto when_sent = [&request] {
    request.when_sent();
    return request.read;
  };
  const HttpClient gateway("127.0.0.1", request.port, kGatewayTimeout);
  const auto answer = gateway.ask(std::move(message), when_sent);
  if (!answer) return {};
  return {static_cast<int>(answer->result_int()), answer->count("Idempotency-Replayed") > 0,
          answer->body()};
}

}  // namespace semel::cli
