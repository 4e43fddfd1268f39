#include "execution/answer/sink.h"

namespace semel::execution {
using boost::asio::awaitable;

awaitable<void> AnswerSink::send_answer(const Answer& answer, const std::vector<Header>& extra) {
  return client_ ? execution::send_answer(*client_, answer, extra) : nothing();
}

awaitable<void> AnswerSink::send_problem(const core::Problem& problem,
                                         const config::RouteConfig& route, std::string_view key) {
  if (!client_) co_return;
  co_await execution::send_problem(*client_, problem, &route, echo(key));
}

awaitable<void> AnswerSink::send_committed(const config::RouteConfig& route, std::string_view key,
                                           const Record& record) {
  return client_ ? execution::send_committed(*client_, route, key, record) : nothing();
}

awaitable<void> AnswerSink::send_record(const runtime::Route& route, std::string_view key,
                                        const RecordPtr& record) {
  return client_ ? execution::send_record(*client_, route, key, record) : nothing();
}

void AnswerSink::cut_off() {
  if (client_) execution::cut_off(*client_);
}

void AnswerSink::end_connection() {
  if (client_) client_->keep_alive = false;
}

}  // namespace semel::execution
