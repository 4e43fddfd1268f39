#include "service/request_body.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <chrono>

#include "base/base64.h"
#include "base/hex.h"
#include "config/reading/values.h"
#include "core/fingerprint/canonical_json.h"
#include "execution/answer/answer_json.h"
#include "service/json_members.h"

namespace semel::service {
namespace json = boost::json;
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;

constexpr std::size_t kNameLengthMax = 255;
constexpr std::size_t kPathLengthMax = 8 * 1024;
constexpr std::size_t kReasonLengthMax = 500;
constexpr std::size_t kHeadersMax = 64;
constexpr Duration kLeaseMax = hours(24);
constexpr Duration kTtlMax = days(45);
constexpr Duration kWaitMax = seconds(60);
constexpr std::string_view kJsonType = "application/json";

using Wrong = std::optional<std::string>;

Wrong read_text(std::string_view name, const json::value& value, std::string& out,
                std::size_t length_max) {
  const auto* text = value.if_string();
  if (text == nullptr) return std::string(name) + ": must be a string";
  if (text->size() > length_max) {
    return std::string(name) + ": is longer than " + std::to_string(length_max) + " bytes";
  }
  out.assign(text->data(), text->size());
  const bool has_control = std::ranges::any_of(
      out, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
  if (has_control) return std::string(name) + ": has control characters";
  return std::nullopt;
}

Wrong read_duration(std::string_view name, const json::value& value, Duration min, Duration max,
                    Duration& out) {
  std::string text;
  if (auto wrong = read_text(name, value, text, kNameLengthMax)) {
    return std::string(name) + ": must be a time such as \"500ms\", \"30s\" or \"10m\"";
  }
  const auto parsed = config::reading::parse_duration(text);
  if (!parsed || *parsed < min || *parsed > max) {
    return std::string(name) + ": must be a time from " + config::reading::format_duration(min) +
           " to " + config::reading::format_duration(max) + ", such as \"30s\"";
  }
  out = *parsed;
  return std::nullopt;
}

Wrong read_token(const json::value& value, Token& out) {
  constexpr auto kWanted =
      "token: must be 32 lower-case hexadecimal digits that you choose at random for each claim";
  const auto* text = value.if_string();
  if (text == nullptr) return kWanted;
  const std::string_view digits(text->data(), text->size());
  const auto bytes = base::decode_hex(digits);
  if (!bytes || bytes->size() != out.bytes.size()) return kWanted;
  std::ranges::copy(*bytes, out.bytes.begin());
  if (out == Token{} || out.hex() != digits) return kWanted;
  return std::nullopt;
}

Wrong read_fingerprint(const json::value& value, ClaimBody& out) {
  constexpr auto kWanted = "fingerprint: must be 64 hexadecimal digits";
  const auto* text = value.if_string();
  if (text == nullptr) return kWanted;
  const auto bytes = base::decode_hex({text->data(), text->size()});
  auto& digest = out.fingerprint.emplace();
  if (!bytes || bytes->size() != digest.size()) return kWanted;
  std::ranges::copy(*bytes, digest.begin());
  return std::nullopt;
}

Wrong read_payload_base64(const json::value& value, std::string& out) {
  const auto* text = value.if_string();
  auto bytes = text ? base::decode_base64({text->data(), text->size()}) : std::nullopt;
  if (!bytes) return "payload_base64: must be base64";
  out = *std::move(bytes);
  return std::nullopt;
}

Wrong read_request_headers(const json::value& value, RequestParts& out) {
  const auto* object = value.if_object();
  if (object == nullptr || object->size() > kHeadersMax) {
    return "request.headers: must be an object of at most 64 names and values";
  }
  for (const auto& member : *object) {
    std::string name(member.key());
    if (!config::reading::is_token(name)) return "request.headers: has a name that is not one";
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    std::string text;
    if (auto wrong = read_text("request.headers", member.value(), text, kPathLengthMax))
      return wrong;
    if (!out.headers.emplace(name, std::move(text)).second) {
      return "request.headers: has a name twice";
    }
  }
  return std::nullopt;
}

Wrong read_request(const json::value& value, RequestParts& out) {
  const auto* object = value.if_object();
  if (object == nullptr) return "request: must be an object";
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    const json::value& given = member.value();
    Wrong wrong;
    if (name == "method") {
      wrong = read_text("request.method", given, out.method, kNameLengthMax);
    } else if (name == "path") {
      wrong = read_text("request.path", given, out.path, kPathLengthMax);
    } else if (name == "query") {
      wrong = read_text("request.query", given, out.query, kPathLengthMax);
    } else if (name == "content_type") {
      wrong = read_text("request.content_type", given, out.content_type, kNameLengthMax);
    } else if (name == "headers") {
      wrong = read_request_headers(given, out);
    } else {
      wrong = "request: " + config::reading::quote(name) +
              " is unknown; use method, path, query, content_type or headers";
    }
    if (wrong) return wrong;
  }
  return std::nullopt;
}

Wrong read_claim_member(std::string_view name, const json::value& value, ClaimBody& out) {
  if (name == "operation") return read_text(name, value, out.operation, kNameLengthMax);
  if (name == "key") return read_text(name, value, out.key, kPathLengthMax);
  if (name == "tenant") return read_text(name, value, out.tenant.emplace(), kNameLengthMax);
  if (name == "token") return read_token(value, out.token);
  if (name == "payload") return std::nullopt;  // its text counts, not what a parser makes of it
  if (name == "payload_base64") return read_payload_base64(value, out.payload);
  if (name == "fingerprint") return read_fingerprint(value, out);
  if (name == "request") return read_request(value, out.request);
  if (name == "lease") {
    return read_duration(name, value, seconds(1), kLeaseMax, out.lease.emplace());
  }
  if (name == "ttl") return read_duration(name, value, seconds(1), kTtlMax, out.ttl.emplace());
  if (name == "wait") return read_duration(name, value, Duration{0}, kWaitMax, out.wait);
  return config::reading::quote(name) + ": unknown member";
}

Wrong read_report_member(std::string_view name, const json::value& value, Verb verb,
                         ReportBody& out) {
  if (name == "token") return read_token(value, out.token);
  if (name == "lease" && verb == Verb::renew) {
    return read_duration(name, value, seconds(1), kLeaseMax, out.lease.emplace());
  }
  if (name == "answer" && verb == Verb::complete) {
    auto answer = execution::parse_answer(value);
    if (!answer) return std::move(answer.error());
    out.answer = *std::move(answer);
    return std::nullopt;
  }
  const bool has_reason = verb == Verb::release || verb == Verb::give_up;
  if (name == "reason" && has_reason) return read_text(name, value, out.reason, kReasonLengthMax);
  return config::reading::quote(name) + ": unknown member";
}

std::expected<json::object, std::string> parse_object(std::string_view text) {
  json::parse_options options;
  options.max_depth = core::kJsonDepthMax;
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error || !value.is_object()) return std::unexpected("The body is not a JSON object.");
  if (has_repeated_member(text)) return std::unexpected("The body has a member twice.");
  return std::move(value.get_object());
}

constexpr std::pair<std::string_view, Verb> kVerbs[] = {{"renew", Verb::renew},
                                                        {"complete", Verb::complete},
                                                        {"release", Verb::release},
                                                        {"give-up", Verb::give_up}};

}  // namespace

RequestView ClaimBody::view() const {
  RequestView view;
  view.method = request.method;
  view.path = request.path;
  view.query = request.query;
  view.content_type = request.content_type;
  view.body = payload;
  view.header = [this](std::string_view name) -> std::optional<std::string> {
    const auto found = request.headers.find(std::string(name));
    if (found == request.headers.end()) return std::nullopt;
    return found->second;
  };
  if (fingerprint) view.body_digest = [this](const Recipe&) { return *fingerprint; };
  return view;
}

std::expected<ClaimBody, std::string> parse_claim(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  ClaimBody out;
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (auto wrong = read_claim_member(name, member.value(), out)) {
      return std::unexpected(*std::move(wrong));
    }
  }
  for (const char* name : {"operation", "key", "token"}) {
    if (!object->contains(name)) return std::unexpected(std::string(name) + ": required");
  }
  const auto has = [&](const char* name) { return object->contains(name) ? 1 : 0; };
  if (has("payload") + has("payload_base64") + has("fingerprint") != 1) {
    return std::unexpected(
        "send one of payload, payload_base64 and fingerprint; it tells a retry from another "
        "operation under the same key");
  }
  if (has("payload") == 1) {
    out.payload = raw_member(text, "payload").value_or("");
    if (out.request.content_type.empty()) out.request.content_type = kJsonType;
  }
  return out;
}

std::optional<Verb> parse_verb(std::string_view word) {
  for (const auto& [name, verb] : kVerbs) {
    if (name == word) return verb;
  }
  return std::nullopt;
}

std::string_view to_string(Verb verb) {
  return std::ranges::find(kVerbs, verb, &std::pair<std::string_view, Verb>::second)->first;
}

std::expected<ReportBody, std::string> parse_report(std::string_view text, Verb verb) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  ReportBody out;
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (auto wrong = read_report_member(name, member.value(), verb, out)) {
      return std::unexpected(*std::move(wrong));
    }
  }
  if (!object->contains("token")) return std::unexpected("token: required; that of the claim");
  if (verb == Verb::complete && !object->contains("answer")) {
    return std::unexpected("answer: required, as {\"status\": 200, \"body\": \"…\"}");
  }
  return out;
}

std::optional<RecordId> parse_record(std::string_view hex) {
  const auto bytes = base::decode_hex(hex);
  RecordId id;
  if (!bytes || bytes->size() != id.bytes.size()) return std::nullopt;
  std::ranges::copy(*bytes, id.bytes.begin());
  if (id.hex() != hex) return std::nullopt;
  return id;
}

}  // namespace semel::service
