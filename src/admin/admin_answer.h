#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "semel/driver/record.h"
#include "semel/driver/store.h"

// The answers of the admin listener.
namespace semel::admin {

Answer text_answer(int status, std::string body, std::string type = "text/plain; charset=utf-8");
Answer json_answer(int status, const boost::json::object& body);
// A problem document (RFC 9457) with a stable `code`.
Answer problem_answer(int status, std::string code, std::string detail);
Answer store_unavailable(const StoreUnavailable& unavailable);

// RFC 3339; null: never, or not at all.
boost::json::value time_json(Time at);
// null: it is empty.
boost::json::value text_or_null(std::string_view text);

}  // namespace semel::admin
