#include "client/status_resource.h"

#include <boost/json.hpp>

#include "base/base64.h"

namespace semel::client {
namespace {

namespace json = boost::json;

std::optional<std::string> text_member(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  if (!found || !found->is_string()) return std::nullopt;
  return json::value_to<std::string>(*found);
}

std::optional<Answer> parse_response(const json::object& status) {
  const json::value* found = status.if_contains("response");
  const json::object* response = found ? found->if_object() : nullptr;
  const json::value* number = response ? response->if_contains("status") : nullptr;
  if (!number || !number->is_int64()) return std::nullopt;
  Answer answer;
  answer.status = static_cast<int>(number->get_int64());
  const json::value* headers = response->if_contains("headers");
  if (headers && headers->is_array()) {
    for (const json::value& pair : headers->get_array()) {
      const json::array* both = pair.if_array();
      if (!both || both->size() != 2 || !both->at(0).is_string() || !both->at(1).is_string())
        continue;
      answer.headers.push_back(
          {json::value_to<std::string>(both->at(0)), json::value_to<std::string>(both->at(1))});
    }
  }
  if (auto body = text_member(*response, "body")) answer.body = *std::move(body);
  if (const auto body = text_member(*response, "body_base64")) {
    answer.body = base::decode_base64(*body).value_or("");
  }
  if (response->contains("body_omitted")) answer.body_note = BodyNote::omitted;
  return answer;
}

}  // namespace

OperationStatus read_status(const Answer& answer) {
  OperationStatus status;
  boost::system::error_code error;
  const json::value parsed = json::parse(answer.body, error);
  const json::object* object = error ? nullptr : parsed.if_object();
  const std::string state = object ? text_member(*object, "state").value_or("") : "";
  status.pending = answer.status == 202 || state == "queued" || state == "in_progress";
  if (status.pending || answer.status != 200) return status;
  if (state == "completed") {
    status.answer = parse_response(*object);
  } else if (state == "unknown") {
    status.end = Sent::End::unknown;
    status.why =
        "the operation's outcome is unknown: it may have happened; the same key may be "
        "tried later, a new one must not";
  } else if (state == "released") {
    status.end = Sent::End::gave_up;
    status.why = "the operation was not executed; the same key may be tried again";
  }
  return status;
}

}  // namespace semel::client
