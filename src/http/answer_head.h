#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "http/connection.h"
#include "http/message.h"

// For requests of our own: what comes back, up to its body.
namespace semel::net {

enum class AnswersBody { yes, no };  // no: the request was a HEAD

// Reads the head of the final answer into `response`; interim answers are passed over.
boost::asio::awaitable<IoResult<void>> read_answer_head(Connection& connection,
                                                        std::optional<Response>& response,
                                                        AnswersBody body = AnswersBody::yes);

// Why there is no answer, as a phrase for the log.
std::string describe_missing_answer(IoError error);

}  // namespace semel::net
