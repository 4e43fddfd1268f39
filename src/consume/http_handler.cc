#include "consume/http_handler.h"

#include "consume/request_fields.h"
#include "execution/execution.h"

namespace semel::consume {
namespace asio = boost::asio;
using asio::awaitable;

HttpHandler::HttpHandler(runtime::Worker& worker, runtime::Route route,
                         config::ConsumeConfig config)
    : worker_(worker), route_(std::move(route)), config_(std::move(config)) {}

awaitable<void> HttpHandler::execute(std::shared_ptr<const BrokerMessage> message, std::string key,
                                     EngineClaim claim, Slot) {
  const config::Upstream& to = config_.route.upstreams.front();
  const config::Url url{to.tls, to.address, config_.target};
  const std::string host = url.authority();
  const std::vector<http::Field> fields = handler_fields(config_, *message, host);
  const execution::Forwarded forwarded;
  const runtime::RequestBody body(worker_.services().spool, message->body);
  telemetry::Trace trace =
      worker_.services().begin_trace(trace_of(*message), telemetry::SpanKind::consumer);
  trace.set_name("process", config_.route.name);
  if (trace) trace.set("semel.record", claim.record->id.hex());
  const execution::KeyedRequest request{
      {"POST", config_.target, fields, forwarded}, body, false, std::move(key), {}, &trace};
  execution::Execution execution(worker_, route_, std::move(claim), request,
                                 execution::AnswerSink::nobody());
  co_await execution.run_to_end();
}

}  // namespace semel::consume
