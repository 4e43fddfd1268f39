#include "execution/answer/answer_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <optional>

#include "base/base64.h"
#include "base/utf8.h"
#include "config/reading/values.h"
#include "config/route.h"
#include "execution/headers.h"
#include "http/fields/never_kept.h"

namespace semel::execution {
namespace json = boost::json;
namespace {

constexpr std::size_t kHeadersMax = 64;
constexpr std::size_t kHeaderLengthMax = 8 * 1024;

using Wrong = std::optional<std::string>;

std::string_view text_of(const json::string& text) {
  return {text.data(), text.size()};
}

Wrong read_text_of(std::string_view name, const json::value& value, std::string& out) {
  if (!value.is_string()) return std::string(name) + ": must be a string";
  out = text_of(value.get_string());
  return std::nullopt;
}

// Returns whether an operator or a client may give this field: not if it would break the answer's
// framing, or if only Semel may set it.
bool may_be_given(std::string_view name) {
  static const config::RouteConfig any_route;
  return !HopByHop::is_always(name) && !is_ours(name, any_route, true) &&
         !http::is_never_kept(name) && !http::iequals(name, "Age") && !http::iequals(name, "Date");
}

Wrong add_header(std::string_view name, const json::value& value, std::vector<Header>& out) {
  std::string text;
  if (auto wrong = read_text_of("answer.headers", value, text)) return wrong;
  if (!config::reading::is_token(name) || !may_be_given(name)) {
    return "answer.headers: " + config::reading::quote(name) + " cannot be set";
  }
  if (text.size() > kHeaderLengthMax || !config::reading::is_printable(text)) {
    return "answer.headers: the value of " + std::string(name) +
           " is too long or not printable ASCII";
  }
  if (out.size() == kHeadersMax) return "answer.headers: has more than 64 entries";
  out.push_back({std::string(name), std::move(text)});
  return std::nullopt;
}

// Reads an object of texts, or a list of pairs if a name stands there more than once.
Wrong read_headers(const json::value& value, std::vector<Header>& out) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      const std::string_view name(member.key().data(), member.key().size());
      if (auto wrong = add_header(name, member.value(), out)) return wrong;
    }
    return std::nullopt;
  }
  const auto* pairs = value.if_array();
  if (!pairs) return "answer.headers: must be an object or a list of pairs";
  for (const json::value& pair : *pairs) {
    const auto* parts = pair.if_array();
    if (!parts || parts->size() != 2 || !parts->at(0).is_string()) {
      return "answer.headers: every entry must be a pair [name, value]";
    }
    if (auto wrong = add_header(text_of(parts->at(0).get_string()), parts->at(1), out))
      return wrong;
  }
  return std::nullopt;
}

Wrong read_base64(const json::value& value, std::string& out) {
  std::string text;
  if (auto wrong = read_text_of("answer.body_base64", value, text)) return wrong;
  auto bytes = base::decode_base64(text);
  if (!bytes) return "answer.body_base64: must be base64";
  out = *std::move(bytes);
  return std::nullopt;
}

Wrong read_status(const json::value& value, int& out) {
  const auto* status = value.if_int64();
  if (!status || *status < 200 || *status > 599) {
    return "answer.status: must be a number from 200 to 599";
  }
  out = static_cast<int>(*status);
  return std::nullopt;
}

Wrong read_answer(const json::value& value, Answer& out) {
  const auto* object = value.if_object();
  if (!object) return "answer: must be an object";
  if (object->contains("body") && object->contains("body_base64")) {
    return "answer: has both body and body_base64; send one";
  }
  Answer answer;
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    Wrong wrong;
    if (name == "status") {
      wrong = read_status(member.value(), answer.status);
    } else if (name == "headers") {
      wrong = read_headers(member.value(), answer.headers);
    } else if (name == "body") {
      wrong = read_text_of("answer.body", member.value(), answer.body);
    } else if (name == "body_base64") {
      wrong = read_base64(member.value(), answer.body);
    } else {
      wrong = "answer: " + config::reading::quote(name) +
              " is unknown; use status, headers, body or body_base64";
    }
    if (wrong) return wrong;
  }
  if (answer.status == 0) return "answer.status: required";
  if ((answer.status == 204 || answer.status == 304) && !answer.body.empty()) {
    return "answer.body: an answer with this status has no body";
  }
  out = std::move(answer);
  return std::nullopt;
}

}  // namespace

std::expected<Answer, std::string> parse_answer(const json::value& value) {
  Answer answer;
  if (auto wrong = read_answer(value, answer)) return std::unexpected(*std::move(wrong));
  return answer;
}

json::object answer_json(const Answer& answer) {
  json::object out;
  out["status"] = answer.status;
  json::array headers;
  for (const Header& header : answer.headers) {
    headers.push_back(
        json::array{base::printable_utf8(header.name), base::printable_utf8(header.value)});
  }
  out["headers"] = std::move(headers);
  if (answer.body_note != BodyNote::kept) {
    out["body_omitted"] = true;
  } else if (simdjson::validate_utf8(answer.body.data(), answer.body.size())) {
    out["body"] = answer.body;
  } else {
    out["body_base64"] = base::encode_base64(answer.body);
  }
  return out;
}

std::string timestamp(Time at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int{date.year()},
                     unsigned{date.month()}, unsigned{date.day()}, time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

}  // namespace semel::execution
