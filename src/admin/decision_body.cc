#include "admin/decision_body.h"

#include <boost/json/parse.hpp>
#include <limits>

#include "admin/kept_work.h"
#include "config/reading/values.h"
#include "execution/answer/answer_json.h"

namespace semel::admin {
namespace json = boost::json;
namespace {

constexpr std::size_t kReasonLengthMax = 500;
constexpr Duration kTtlMin = std::chrono::seconds(1);

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

Wrong read_answer(const json::value& value, std::optional<Answer>& out) {
  auto answer = execution::parse_answer(value);
  if (!answer) return std::move(answer.error());
  out = *std::move(answer);
  return std::nullopt;
}

Wrong read_where(const json::value& value, Decided decided, Search& out) {
  const auto* object = value.if_object();
  if (!object) return "where: must be an object";
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    std::string text;
    if (auto wrong = read_text("where." + std::string(name), member.value(), text)) return wrong;
    const Wrong wrong =
        is_about_work(decided) ? set_work_filter(name, text, out) : out.filter.set(name, text);
    if (wrong) return "where: " + *wrong;
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

Wrong read_attempt(const json::value& value, std::optional<std::uint32_t>& out) {
  const auto* attempt = value.if_int64();
  if (!attempt || *attempt < 0 || *attempt > std::numeric_limits<std::uint32_t>::max()) {
    return "attempt: must be the number of an attempt, as the record shows it";
  }
  out = static_cast<std::uint32_t>(*attempt);
  return std::nullopt;
}

Wrong read_ttl(const json::value& value, std::optional<Duration>& out) {
  std::string text;
  if (auto wrong = read_text("ttl", value, text)) return wrong;
  const auto parsed = config::reading::parse_duration(text);
  if (!parsed) return "ttl: " + config::reading::quote(text) + " " + parsed.error();
  if (*parsed < kTtlMin) return "ttl: must be at least 1s";
  out = *parsed;
  return std::nullopt;
}

Wrong read_cursor(const json::value& value, std::optional<Cursor>& out) {
  std::string text;
  if (auto wrong = read_text("cursor", value, text)) return wrong;
  out = parse_cursor(text);
  if (!out) return "cursor: must be one that this API returned";
  return std::nullopt;
}

Wrong read_member(std::string_view name, const json::value& value, Decided decided, bool many,
                  DecisionBody& out) {
  if (name == "reason") return read_reason(value, out.resolution.why);
  const bool ends_claim = decided == Decided::completed || decided == Decided::released;
  if (name == "force" && ends_claim) return read_bool(name, value, out.resolution.force);
  if (name == "ttl" && decided == Decided::extended)
    return read_ttl(value, out.resolution.extend_for);
  if (name == "answer" && decided == Decided::completed)
    return read_answer(value, out.resolution.answer);
  if (name == "attempt" && !many) return read_attempt(value, out.attempt);
  if (name == "where" && many) return read_where(value, decided, out.which);
  if (name == "limit" && many) return read_limit(value, out.which.limit);
  if (name == "cursor" && many) return read_cursor(value, out.which.from);
  if (name == "dry_run" && many) return read_bool(name, value, out.dry_run);
  return config::reading::quote(name) + ": unknown member";
}

constexpr std::pair<std::string_view, Decided> kVerbs[] = {
    {"resolve", Decided::completed}, {"release", Decided::released}, {"forget", Decided::forgotten},
    {"extend", Decided::extended},   {"retry", Decided::retried},    {"drop", Decided::dropped}};

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
  if (decided == Decided::extended && !out.resolution.extend_for) {
    return std::unexpected("ttl: required; how long the record is kept from now on, like 7d");
  }
  if (many && out.which.filter.empty() && !out.which.only) {
    return std::unexpected("where: required; say which records to decide about");
  }
  // Only unknown records can be resolved, except those that still run, which have to be asked for
  // by name.
  if (many && !out.which.filter.state && (resolves || decided == Decided::released)) {
    out.which.filter.state = RecordState::unknown;
  }
  if (many && is_about_work(decided) && !out.which.only) list_only(WorkState::dead, out.which);
  return out;
}

}  // namespace semel::admin
