#include "cli/call/call_report.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <ctime>

#include "base/base64.h"
#include "base/utf8.h"
#include "core/json_text.h"

namespace semel::cli {
namespace {

constexpr int kExitAnsweredBadly = 22;  // as curl's --fail
constexpr int kExitCallRefused = 65;    // EX_DATAERR
constexpr int kExitCallUnknown = 70;    // EX_SOFTWARE
constexpr int kExitGaveUp = 75;         // EX_TEMPFAIL
constexpr int kExitInterrupted = 130;   // as a shell reports SIGINT

double in_seconds(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string utc(std::chrono::system_clock::time_point at) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

boost::json::array headers_json(const Answer& answer) {
  boost::json::array out;
  for (const Header& header : answer.headers) {
    out.push_back(
        boost::json::array{base::printable_utf8(header.name), base::printable_utf8(header.value)});
  }
  return out;
}

std::string how_to_go_on(const Sent& sent) {
  if (sent.key.empty()) return "; no key was sent";
  if (!sent.same_key_may_retry) return fmt::format("; key {}", sent.key);
  return fmt::format("; go on with the same key: --key '{}'", sent.key);
}

std::string what_happened(const Sent& sent) {
  if (sent.stopped) return "interrupted";
  switch (sent.end) {
    case Sent::End::answered:
    case Sent::End::replayed:
      return std::string(to_string(sent.end));
    case Sent::End::refused:
      return "refused";
    case Sent::End::unknown:
      return "unknown";
    case Sent::End::gave_up:
      break;
  }
  return "gave up";
}

}  // namespace

int call_exit_code(const Sent& sent) {
  if (sent.stopped) return kExitInterrupted;
  const int status = sent.answer.status;
  switch (sent.end) {
    case Sent::End::answered:
    case Sent::End::replayed:
      if (status >= 200 && status < 300) return 0;
      return status == 400 || status == 410 || status == 422 ? kExitCallRefused
                                                             : kExitAnsweredBadly;
    case Sent::End::refused:
      return kExitCallRefused;
    case Sent::End::unknown:
      return kExitCallUnknown;
    case Sent::End::gave_up:
      break;
  }
  return kExitGaveUp;
}

void print_call_json(const Sent& sent) {
  boost::json::object out;
  out["end"] = sent.stopped ? "interrupted" : to_string(sent.end);
  out["status"] = sent.answer.status;
  out["key"] = sent.key;
  out["tries"] = sent.tries;
  out["seconds"] = in_seconds(sent.took);
  out["why"] = base::printable_utf8(sent.why);
  out["same_key_may_retry"] = sent.same_key_may_retry;
  out["new_key_safe"] = sent.new_key_safe;
  if (sent.key_expires) out["key_expires"] = utc(*sent.key_expires);
  if (sent.retry_at) out["retry_at"] = utc(*sent.retry_at);
  out["headers"] = headers_json(sent.answer);
  if (base::printable_utf8(sent.answer.body) == sent.answer.body) {
    out["body"] = sent.answer.body;
  } else {
    out["body_base64"] = base::encode_base64(sent.answer.body);
  }
  std::puts(core::json_text(out).c_str());
}

void print_call_body(const Sent& sent) {
  std::fwrite(sent.answer.body.data(), 1, sent.answer.body.size(), stdout);
}

void print_call_line(const Sent& sent) {
  const int code = call_exit_code(sent);
  const bool over = sent.end == Sent::End::answered || sent.end == Sent::End::replayed;
  const std::string key = sent.key.empty() ? "; no key was sent" : "; key " + sent.key;
  std::fprintf(stderr, "semel: %s: %s; %d %s, %.3f s%s%s\n", what_happened(sent).c_str(),
               base::printable_utf8(sent.why).c_str(), sent.tries,
               sent.tries == 1 ? "try" : "tries", in_seconds(sent.took),
               sent.retry_at ? fmt::format("; not before {}", utc(*sent.retry_at)).c_str() : "",
               (over || code == 0 ? key : how_to_go_on(sent)).c_str());
}

void print_try_line(const TryReport& tried, const std::string& key_start) {
  std::string line = fmt::format("semel: try {}: {}; {:.3f} s", tried.number,
                                 base::printable_utf8(tried.result), in_seconds(tried.took));
  if (!key_start.empty()) line += fmt::format("; key {}", key_start);
  if (tried.retries) line += fmt::format("; again in {:.3f} s", in_seconds(tried.pause));
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace semel::cli
