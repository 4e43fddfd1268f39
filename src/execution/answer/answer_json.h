#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <expected>
#include <string>

#include "semel/answer.h"
#include "semel/time.h"

// Answers as JSON, wherever one is read or shown whole:
//
//   {"status": 201, "headers": [["Content-Type", "text/plain"]], "body": "…"}
//
// A body that is not UTF-8 is `body_base64`.
namespace semel::execution {

// Shows the answer. `body_omitted`: the body was too large to store, or is not kept in the record.
boost::json::object answer_json(const Answer& answer);

// Reads an answer that somebody gives. `headers` may also be an object. The error says which member
// is wrong, and how. Unknown members and headers that only Semel may set are refused.
std::expected<Answer, std::string> parse_answer(const boost::json::value& value);

// 2026-11-15T12:00:00.123Z
std::string timestamp(Time at);

}  // namespace semel::execution
