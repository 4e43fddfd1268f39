#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "semel/driver/record.h"

// The answers of the admin listener.
namespace semel::admin {

Answer text_answer(int status, std::string body, std::string type = "text/plain; charset=utf-8");
Answer json_answer(int status, const boost::json::object& body);
// A problem document (RFC 9457) with a stable `code`.
Answer problem_answer(int status, std::string code, std::string detail);

}  // namespace semel::admin
