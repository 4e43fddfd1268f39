#include "core/no_answer.h"

namespace semel::core {

Answer answer_for_no_answer() {
  Answer answer;
  answer.status = 502;
  answer.headers.push_back({"Content-Type", "application/problem+json"});
  answer.body =
      R"({"type":"urn:semel:problem:upstream-unreachable","title":"No answer came back",)"
      R"("status":502,"detail":"The request was sent on and no answer came back; whether it took )"
      R"(effect is not known.","code":"upstream-unreachable","new_key_safe":false})";
  return answer;
}

}  // namespace semel::core
