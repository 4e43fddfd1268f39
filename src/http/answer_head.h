#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "http/connection.h"
#include "http/message.h"

// Reads the answers to our own requests, up to the body.
namespace semel::http {

enum class AnswersBody { yes, no };  // no: the request was a HEAD

// Reads the head of the final answer into `response`; skips interim answers.
boost::asio::awaitable<IoResult<void>> read_answer_head(Connection& connection,
                                                        std::optional<Response>& response,
                                                        AnswersBody body = AnswersBody::yes);

// Says why there is no answer, as a phrase for the log.
std::string describe_missing_answer(IoError error);

}  // namespace semel::http
