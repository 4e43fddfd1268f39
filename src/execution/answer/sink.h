#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>
#include <vector>

#include "execution/answer/replay.h"
#include "execution/answer/reply.h"

namespace semel::execution {

// Where the answer of an execution goes: to a client, or to nobody. Sending to nobody does nothing.
class AnswerSink {
 public:
  static AnswerSink nobody() { return AnswerSink(nullptr); }
  explicit AnswerSink(ClientRequest& client) : AnswerSink(&client) {}

  // Null: nobody.
  ClientRequest* client() const { return client_; }

  boost::asio::awaitable<void> send_answer(const Answer& answer, const std::vector<Header>& extra);
  boost::asio::awaitable<void> send_problem(const core::Problem& problem,
                                            const config::RouteConfig& route, std::string_view key);
  // Sends the record's answer, after the executor of the client's request completed the record.
  boost::asio::awaitable<void> send_committed(const config::RouteConfig& route,
                                              std::string_view key, const Record& record);
  // Sends the record's answer, never the claim's own.
  boost::asio::awaitable<void> send_record(const runtime::Route& route, std::string_view key,
                                           const RecordPtr& record);
  // Ends the connection in the middle of an answer, so that the client sees that it is not whole.
  void cut_off();
  // Ends the connection after this request.
  void end_connection();

 private:
  explicit AnswerSink(ClientRequest* client) : client_(client) {}
  static boost::asio::awaitable<void> nothing() { co_return; }

  ClientRequest* client_;
};

}  // namespace semel::execution
