#include "admin/decision_body.h"

#include <boost/json/parse.hpp>

#include "base/base64.h"
#include "config/reading/values.h"
#include "execution/headers.h"
#include "http/fields/never_kept.h"

namespace semel::admin {
namespace json = boost::json;
namespace {

constexpr std::size_t kReasonLengthMax = 500;
constexpr std::size_t kHeadersMax = 64;
constexpr std::size_t kHeaderLengthMax = 8 * 1024;

using Wrong = std::optional<std::string>;

std::string_view view(const json::string& text) {
  return {text.data(), text.size()};
}

Wrong read_text(std::string_view name, const json::value& value, std::string& out) {
  if (!value.is_string()) return std::string(name) + ": must be a string";
  out = view(value.get_string());
  return std::nullopt;
}

Wrong read_bool(std::string_view name, const json::value& value, bool& out) {
  if (!value.is_bool()) return std::string(name) + ": must be true or false";
  out = value.get_bool();
  return std::nullopt;
}

// Returns whether an operator may give this field: not if it would break the answer's framing, or
// if only Semel may set it.
bool may_be_given(std::string_view name) {
  static const config::RouteConfig any_route;
  return !execution::HopByHop::is_always(name) && !execution::is_ours(name, any_route, true) &&
         !http::is_never_kept(name) && !http::iequals(name, "Age") && !http::iequals(name, "Date");
}

Wrong add_header(std::string_view name, const json::value& value, std::vector<Header>& out) {
  std::string text;
  if (auto wrong = read_text("answer.headers", value, text)) return wrong;
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
    if (auto wrong = add_header(view(parts->at(0).get_string()), parts->at(1), out)) return wrong;
  }
  return std::nullopt;
}

Wrong read_base64(const json::value& value, std::string& out) {
  std::string text;
  if (auto wrong = read_text("answer.body_base64", value, text)) return wrong;
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

Wrong read_answer(const json::value& value, std::optional<Answer>& out) {
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
      wrong = read_text("answer.body", member.value(), answer.body);
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

Wrong read_where(const json::value& value, KeyFilter& out) {
  const auto* object = value.if_object();
  if (!object) return "where: must be an object";
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    std::string text;
    if (auto wrong = read_text("where." + std::string(name), member.value(), text)) return wrong;
    if (auto wrong = out.set(name, text)) return "where: " + *wrong;
  }
  return std::nullopt;
}

Wrong read_reason(const json::value& value, std::string& out) {
  if (auto wrong = read_text("reason", value, out)) return wrong;
  if (out.size() > kReasonLengthMax) return "reason: is longer than 500 bytes";
  for (const char c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) return "reason: has control characters";
  }
  return std::nullopt;
}

Wrong read_limit(const json::value& value, std::size_t& out) {
  const auto* limit = value.if_int64();
  if (!limit || *limit < 1 || *limit > static_cast<std::int64_t>(kDecisionsMax)) {
    return "limit: must be a number from 1 to 1000";
  }
  out = static_cast<std::size_t>(*limit);
  return std::nullopt;
}

Wrong read_cursor(const json::value& value, std::optional<RecordId>& out) {
  std::string text;
  if (auto wrong = read_text("cursor", value, text)) return wrong;
  out = parse_hex_id(text);
  if (!out) return "cursor: must be one that this API returned";
  return std::nullopt;
}

Wrong read_member(std::string_view name, const json::value& value, Decided decided, bool many,
                  DecisionBody& out) {
  if (name == "reason") return read_reason(value, out.resolution.why);
  if (name == "force" && decided != Decided::forgotten)
    return read_bool(name, value, out.resolution.force);
  if (name == "answer" && decided == Decided::completed)
    return read_answer(value, out.resolution.answer);
  if (name == "where" && many) return read_where(value, out.where);
  if (name == "limit" && many) return read_limit(value, out.limit);
  if (name == "cursor" && many) return read_cursor(value, out.after);
  if (name == "dry_run" && many) return read_bool(name, value, out.dry_run);
  return config::reading::quote(name) + ": unknown member";
}

constexpr std::pair<std::string_view, Decided> kVerbs[] = {{"resolve", Decided::completed},
                                                           {"release", Decided::released},
                                                           {"forget", Decided::forgotten}};

}  // namespace

std::string_view verb_of(Decided decided) {
  const auto* found =
      std::ranges::find(kVerbs, decided, &std::pair<std::string_view, Decided>::second);
  return found->first;
}

std::optional<Decided> parse_verb(std::string_view verb) {
  for (const auto& [name, decided] : kVerbs) {
    if (name == verb) return decided;
  }
  return std::nullopt;
}

std::expected<DecisionBody, std::string> parse_decision(const std::string& body, Decided decided,
                                                        bool many) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  const auto* object = error ? nullptr : value.if_object();
  if (!object) return std::unexpected("The body is not a JSON object.");
  const bool resolves = decided == Decided::completed;
  DecisionBody out;
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (auto wrong = read_member(name, member.value(), decided, many, out)) {
      return std::unexpected(*wrong);
    }
  }
  if (out.resolution.why.find_first_not_of(' ') == std::string::npos) {
    return std::unexpected("reason: required; it is kept with the record");
  }
  if (resolves && !out.resolution.answer) {
    return std::unexpected("answer: required; to let the request run again, release it");
  }
  if (many && out.where.empty()) {
    return std::unexpected("where: required; say which records to decide about");
  }
  // Only unknown records can be resolved, except those that still run, which have to be asked for
  // by name.
  if (many && !out.where.state && decided != Decided::forgotten)
    out.where.state = RecordState::unknown;
  return out;
}

}  // namespace semel::admin
