#include "check/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/backoff.h"
#include "base/random.h"
#include "base/text.h"
#include "base/utf8.h"

namespace semel::check {
namespace {

constexpr std::size_t kShownBytesMax = 300;
// A counter may lag behind: a read replica, a page that is made now and then.
constexpr int kCounterLooks = 10;
constexpr Milliseconds kCounterPause{100};
constexpr std::size_t kSecretBytesMin = 4;  // shorter ones would blot out half of every text

std::string shortened(std::string_view text) {
  std::string out = base::printable_utf8(text.substr(0, kShownBytesMax));
  if (text.size() > kShownBytesMax) out += fmt::format("… ({} bytes)", text.size());
  return out;
}

}  // namespace

Lab::Lab(const Options& options, Client& client)
    : options_(options),
      client_(client),
      counter_(options, client),
      run_(fmt::format("{:08x}", base::random_number() & 0xFFFF'FFFF)) {
  for (const Field& field : options.headers) {
    if (base::lower_case(field.name) != "content-type") secrets_.push_back(field.value);
  }
  for (const char* name : {"--other-auth", "--bad-auth"}) {
    if (const std::string* value = options.extra(name)) secrets_.push_back(*value);
  }
  // The token may be echoed without its scheme.
  for (std::size_t i = 0, given = secrets_.size(); i < given; ++i) {
    secrets_.push_back(secrets_[i].substr(secrets_[i].rfind(' ') + 1));
  }
  std::erase_if(secrets_, [](const std::string& one) { return one.size() < kSecretBytesMin; });
}

std::string Lab::new_key() {
  return fmt::format("semel-check-{}-{}", run_, ++keys_);
}

std::string Lab::payload() {
  return payloads_.render(options_.body);
}

std::optional<std::string> Lab::other_payload(int nth) {
  if (!calibration_.varies) return std::nullopt;
  if (const std::string* other = options_.extra("--other-body")) return payloads_.render(*other);
  if (has_variables(options_.body)) return payload();
  return varied_json(options_.body, nth);
}

std::string Lab::extra_payload(std::string_view option) {
  const std::string* text = options_.extra(option);
  return payloads_.render(text == nullptr ? options_.body : *text);
}

Request Lab::raw_request(const std::vector<std::string>& keys, std::string_view payload) {
  Request request{.method = options_.method, .path = options_.target.path};
  request.fields = options_.headers;
  for (const std::string& key : keys) {
    request.fields.push_back({options_.key_header, key});
    request.shown_key += (request.shown_key.empty() ? "" : " + ") + key;
  }
  request.body = with_key(payload, keys.empty() ? "" : keys.front());
  return request;
}

Request Lab::request(const std::string& key, std::string_view payload) {
  const std::string field = calibration_.quoted ? '"' + key + '"' : key;
  Request made = raw_request({field}, "");
  made.body = with_key(payload, key);
  return made;
}

Answer Lab::send(const Request& request) {
  constexpr int kBackOffs = 3;
  constexpr Milliseconds kBackOffMax{5000};
  for (int tried = 0;; ++tried) {
    Answer answer = send_once(request);
    if (answer.status != 429 || tried == kBackOffs) return answer;
    const long seconds = std::atol(std::string(answer.get("Retry-After")).c_str());
    client_.pause(std::min(Milliseconds(std::max(seconds, 1L) * 1000), kBackOffMax));
  }
}

Answer Lab::send_once(const Request& request) {
  Answer answer = client_.exchange(request);
  note(request, answer);
  return answer;
}

Answer Lab::settle(const Request& request) {
  base::Backoff backoff(Milliseconds(50), Milliseconds(500));
  const auto slow = Milliseconds(static_cast<long>(calibration_.slow_seconds * 1000));
  const auto until = std::chrono::steady_clock::now() + options_.patience + slow;
  for (;;) {
    Answer answer = send(request);
    if (!is_busy(answer) || std::chrono::steady_clock::now() >= until) return answer;
    client_.pause(backoff.next());
  }
}

Answer Lab::answer_of(Line& line) {
  Answer answer = line.answer();
  note(line.request(), answer);
  return answer;
}

bool Lab::same(const Answer& first, const Answer& retry) const {
  if (witness().known()) return witness().same(first, retry);
  return first.ok() && retry.ok() && first.body == retry.body;
}

bool Lab::is_marked(const Answer& answer) const {
  return !calibration_.marker.empty() &&
         answer.get(calibration_.marker) == calibration_.marker_value;
}

bool Lab::is_busy(const Answer& answer) const {
  if (answer.status == 202) return calibration_.first.status != 202;
  return answer.status == 409 || answer.status == 425;
}

void Lab::behaves(std::string topic, std::string how) {
  const auto known = std::ranges::find(behaviour_, topic, &Behaviour::value_type::first);
  if (known == behaviour_.end()) {
    behaviour_.emplace_back(std::move(topic), std::move(how));
  } else {
    known->second = std::move(how);
  }
}

std::string Lab::without_secrets(std::string text) const {
  for (const std::string& secret : secrets_) {
    for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos;) {
      text.replace(at, secret.size(), "***");
    }
  }
  return text;
}

void Lab::note(const Request& request, const Answer& answer) {
  shown_.push_back({.request = without_secrets(shortened(request.method + " " + request.path)),
                    .key = without_secrets(shortened(request.shown_key)),
                    .answer = answer.shown(),
                    .body = shortened(without_secrets(answer.body))});
  if (!answer.ok()) return;
  ++successes_;
  if (const std::string one = witness().of(answer); !one.empty()) witnesses_.insert(one);
  const long seen = witness().known() ? static_cast<long>(witnesses_.size()) : successes_;
  if (seen > options_.effects_max) {
    throw Stopped{fmt::format("the limit is reached (--max-effects {})", options_.effects_max)};
  }
}

void Lab::begin_counting() {
  if (const auto count = counter_.given() ? counter_.read() : std::unexpected("")) {
    counted_before_ = *count;
  }
}

long Lab::effects() {
  if (counter_.given()) {
    if (const auto now = counter_.read()) return *now - counted_before_;
  }
  return witness().known() ? static_cast<long>(witnesses_.size()) : successes_;
}

Effects::Effects(Lab& lab) : lab_(lab) {
  if (!lab.counter().given()) return;
  if (const auto count = lab.counter().read()) before_ = *count;
}

void Effects::saw(const Answer& answer) {
  // An answer may lack a part of the witness, so answers are compared in what they have in common.
  if (!answer.ok() || lab_.is_busy(answer) || lab_.witness().of(answer).empty()) return;
  const auto is_same = [&](const Answer& one) { return lab_.witness().same(one, answer); };
  if (std::ranges::none_of(seen_, is_same)) seen_.push_back(answer);
}

std::optional<long> Effects::counted() {
  if (!before_) return std::nullopt;
  const auto now = lab_.counter().read();
  return now ? std::optional(*now - *before_) : std::nullopt;
}

Finding Effects::expect(long count, std::string_view who) {
  auto by_counter = counted();
  for (int looks = 0; by_counter && *by_counter < count && looks < kCounterLooks; ++looks) {
    lab_.client().pause(kCounterPause);
    by_counter = counted();
  }
  const bool missing = by_counter && *by_counter < count;
  const long by_witness = static_cast<long>(seen_.size());
  const long effects = missing ? *by_counter : std::max(by_counter.value_or(0), by_witness);
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (const Answer& one : seen_ | std::views::take(kNamed)) {
    names += (names.empty() ? "" : "; ") + lab_.witness().of(one);
  }
  if (seen_.size() > kNamed) names += "; …";
  if (effects > count || missing) {
    return failed(fmt::format("{} had {} effects instead of {}{}", who, effects, count,
                              names.empty() ? "" : " (" + names + ")"));
  }
  if (by_counter || (effects == count && lab_.witness().known())) return passed();
  return unproven("nothing in the answers tells executions apart; give --count or --count-cmd");
}

}  // namespace semel::check
