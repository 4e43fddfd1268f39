#include "admin/admin_answer.h"

#include <boost/json/serialize.hpp>

#include "base/utf8.h"
#include "execution/answer/answer_json.h"

namespace semel::admin {

Answer text_answer(int status, std::string body, std::string type) {
  Answer answer;
  answer.status = status;
  answer.headers.push_back({"Content-Type", std::move(type)});
  answer.body = std::move(body);
  return answer;
}

Answer json_answer(int status, const boost::json::object& body) {
  return text_answer(status, boost::json::serialize(body) + "\n", "application/json");
}

Answer problem_answer(int status, std::string code, std::string detail) {
  boost::json::object body{{"type", "urn:semel:admin:" + code},
                           {"status", status},
                           {"code", std::move(code)},
                           {"detail", std::move(detail)}};
  return text_answer(status, boost::json::serialize(body) + "\n", "application/problem+json");
}

Answer store_unavailable(const StoreUnavailable& unavailable) {
  return problem_answer(503, "store-unavailable", unavailable.why);
}

boost::json::value time_json(Time at) {
  if (at == kNever || at == Time{}) return nullptr;
  return boost::json::value(execution::timestamp(at));
}

boost::json::value text_or_null(std::string_view text) {
  if (text.empty()) return nullptr;
  return boost::json::value(base::printable_utf8(text));
}

}  // namespace semel::admin
