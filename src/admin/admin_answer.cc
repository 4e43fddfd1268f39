#include "admin/admin_answer.h"

#include <boost/json/serialize.hpp>

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

}  // namespace semel::admin
