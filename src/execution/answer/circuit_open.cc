#include "execution/answer/circuit_open.h"

#include <algorithm>
#include <chrono>

namespace semel::execution {
using boost::asio::awaitable;

awaitable<void> refuse_open_circuit(ClientRequest& request, const runtime::Route& route,
                                    Duration retry_after, bool new_key_safe,
                                    std::vector<Header> extra) {
  route.metrics().count(telemetry::RequestResult::refused);
  const auto wait = std::chrono::ceil<std::chrono::seconds>(retry_after);
  extra.push_back({"Retry-After", std::to_string(std::max<std::int64_t>(1, wait.count()))});
  core::Problem problem{.code = core::Code::circuit_open,
                        .detail =
                            "The service fails at the moment, so nothing was sent to it. Retry "
                            "later, with the same key if there is one.",
                        .new_key_safe = new_key_safe};
  co_await send_problem(request, problem, &route.config(), extra);
}

awaitable<std::optional<runtime::Circuit::Pass>> pass_circuit(ClientRequest& request,
                                                              const runtime::Route& route,
                                                              std::vector<Header> extra) {
  runtime::Circuit* circuit = route.circuit();
  if (!circuit) co_return runtime::Circuit::Pass{};
  const auto pass = circuit->enter(request.worker.deadlines().now());
  if (pass) co_return *pass;
  co_await refuse_open_circuit(request, route, pass.error(), true, std::move(extra));
  co_return std::nullopt;
}

void report_to_circuit(const ClientRequest& request, const runtime::Route& route,
                       runtime::Circuit::Pass pass, int status) {
  runtime::Circuit* circuit = route.circuit();
  if (!circuit) return;
  if (status == 0 || runtime::is_service_failure(status)) {
    circuit->failed(pass, request.worker.deadlines().now());
  } else {
    circuit->succeeded(pass);
  }
}

}  // namespace semel::execution
