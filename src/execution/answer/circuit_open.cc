#include "execution/answer/circuit_open.h"

namespace semel::execution {
using boost::asio::awaitable;

core::Problem circuit_open_problem(Duration retry_after, bool new_key_safe) {
  return {.code = core::Code::circuit_open,
          .detail =
              "The service fails at the moment, so nothing was sent to it. Retry later, with the "
              "same key if there is one.",
          .new_key_safe = new_key_safe,
          .retry_after = retry_after};
}

awaitable<bool> refuse_open_circuit(ClientRequest& request, const runtime::Route& route) {
  runtime::Circuit* circuit = route.circuit();
  if (!circuit) co_return false;
  const auto allowed = circuit->check(request.worker.deadlines().now());
  if (allowed) co_return false;
  count_result(request, route, telemetry::RequestResult::refused);
  co_await send_problem(request, circuit_open_problem(allowed.error(), true), &route.config());
  co_return true;
}

awaitable<std::optional<runtime::Circuit::Pass>> pass_circuit(ClientRequest& request,
                                                              const runtime::Route& route,
                                                              bool new_key_safe,
                                                              std::vector<Header> extra) {
  runtime::Circuit* circuit = route.circuit();
  if (!circuit) co_return runtime::Circuit::Pass{};
  const auto pass = circuit->enter(request.worker.deadlines().now());
  if (pass) co_return *pass;
  count_result(request, route, telemetry::RequestResult::refused);
  co_await send_problem(request, circuit_open_problem(pass.error(), new_key_safe), &route.config(),
                        extra);
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
