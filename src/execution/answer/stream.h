#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "execution/answer/body_pace.h"
#include "execution/answer/chunks.h"
#include "execution/answer/sink.h"
#include "execution/upstream_call.h"

namespace semel::execution {

// Passes a streaming answer on as it comes and hands it to the keeper, which keeps what may be
// stored. Holds the end of the answer back from the client until finish(): only then is the whole
// of it recorded.
class AnswerStream {
 public:
  // If `answers` is nobody, the answer is only read and kept; without a keeper it is only passed
  // on.
  AnswerStream(runtime::Services& services, const config::RouteConfig& route, UpstreamCall& call,
               const AnswerSink& answers, AnswerKeeper* keeper);

  enum class End { whole, cut };
  boost::asio::awaitable<End> run(const std::vector<Header>& headers,
                                  const std::vector<Header>& extra);
  // Lets the client see the end.
  boost::asio::awaitable<void> finish();

 private:
  boost::asio::awaitable<void> pass_on(std::string_view piece);
  boost::asio::awaitable<void> write(std::string_view first, std::string_view second = {},
                                     std::string_view third = {});

  runtime::Services& services_;
  const config::RouteConfig& route_;
  UpstreamCall& call_;
  ClientRequest* client_;  // null as soon as nobody listens
  AnswerKeeper* keeper_;
  BodyEnd end_ = BodyEnd::chunks;
  ClientPace pace_;
  std::string held_back_;  // the last piece, unless the answer is sent in chunks
};

}  // namespace semel::execution
