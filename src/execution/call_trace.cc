#include "execution/call_trace.h"

namespace semel::execution {
namespace {

constexpr int kClientErrors = 400;

}  // namespace

void name_parent(const telemetry::Trace::Part& call, KeyForwarding& fields) {
  if (!call) return;
  fields.drop.push_back("Traceparent");
  fields.add.push_back({"Traceparent", call.traceparent()});
}

void note_answer(telemetry::Trace::Part& call, const config::Upstream* upstream, int status) {
  if (!call) return;
  if (upstream) {
    call.set("server.address", upstream->address.host);
    call.set("server.port", upstream->address.port);
  }
  if (status != 0) {
    call.set("http.response.status_code", status);
  } else {
    call.set("error.type", "no_answer");
  }
  if (status == 0 || status >= kClientErrors) call.set_failed();
  call.end();
}

}  // namespace semel::execution
