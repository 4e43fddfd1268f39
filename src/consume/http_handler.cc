#include "consume/http_handler.h"

#include "consume/request_fields.h"
#include "execution/execution.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

HttpHandler::HttpHandler(Worker& worker, Route route, ConsumeConfig config)
    : worker_(worker), route_(std::move(route)), config_(std::move(config)) {}

awaitable<void> HttpHandler::execute(std::shared_ptr<const Message> message, std::string key,
                                     Claim claim, Slot) {
  const Upstream& to = config_.route.upstreams.front();
  const Url url{to.tls, to.address, config_.target};
  const std::string host = url.authority();
  const std::vector<net::Field> fields = handler_fields(config_, *message, host);
  const Forwarded forwarded;
  const RequestBody body(worker_.services().spool, message->body);
  const KeyedRequest request{
      {"POST", config_.target, fields, forwarded}, body, false, std::move(key)};
  Execution execution(worker_, route_, std::move(claim), request, AnswerSink::nobody());
  co_await execution.run_to_end();
}

}  // namespace semel
