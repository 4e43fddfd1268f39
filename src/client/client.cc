#include "semel/client.h"

#include <utility>

#include "base/random.h"
#include "client/clock.h"
#include "client/course.h"
#include "client/key_file.h"
#include "client/request.h"
#include "client/status_resource.h"
#include "client/wire/answer_reader.h"

namespace semel {
namespace {

using namespace client;

constexpr int kRedirectsMax = 5;
constexpr Duration kKeyOld = std::chrono::hours(24);
constexpr Duration kFollowPause = std::chrono::seconds(1);

SteadyPoint steady_now() {
  return std::chrono::steady_clock::now();
}

Moment this_moment() {
  return {steady_now(), wall_now(), base::random_number()};
}

std::shared_ptr<RetryBudget> budget_of_the_process() {
  static const auto budget = std::make_shared<RetryBudget>();
  return budget;
}

Url parse_base(const std::string& text) {
  auto url = parse_url(text);
  if (!url) throw Client::Error(text + ": " + url.error());
  return *std::move(url);
}

// Returns where a redirect leads, if it is followed: never to another origin, which must not get
// the key or credentials, and never with another method.
std::optional<Url> redirect_of(const Url& from, std::string_view method, const Answer& answer) {
  const int status = answer.status;
  const bool same_method = status == 307 || status == 308;
  const bool followed = same_method || (is_safe(method) && status >= 301 && status <= 303);
  const std::string* location = followed ? find_header(answer, "Location") : nullptr;
  if (location == nullptr) return std::nullopt;
  auto to = resolve(from, *location);
  if (!to || to->origin != from.origin) return std::nullopt;
  return to;
}

// One call: the request, its key, and where it is sent.
class Call {
 public:
  Call(const ClientOptions& options, Connections& connections, Prepared request, std::string key,
       const Stop* stop)
      : options_(options),
        connections_(connections),
        request_(std::move(request)),
        key_(std::move(key)),
        key_value_(key_.empty() ? "" : key_field(key_, options.bare_key)),
        stop_(stop),
        begun_(steady_now()),
        course_(options.retry, *options.retry.budget, {request_.method, !key_.empty()}, begun_) {}

  Sent run() {
    for (;;) {
      const Tried tried = one_try();
      if (tried.result) sent_.answer = *tried.result;
      Course::Step step = course_.after(tried, this_moment());
      report(tried, step);
      if (const auto* again = std::get_if<Course::Again>(&step)) {
        if (sleep(again->pause)) continue;
        step = course_.stopped();
      }
      finish(std::get<Course::Over>(step));
      if (options_.follow && sent_.answer.status == 202) follow();
      sent_.took = std::chrono::duration_cast<Duration>(steady_now() - begun_);
      return std::move(sent_);
    }
  }

 private:
  // Sends the request once, and follows redirects.
  Tried one_try() {
    const Limits limits{course_.try_until(steady_now()), stop_};
    Url url = request_.url;
    Tried tried = exchange(connections_, to_send(url.target), limits);
    for (int i = 0; i < kRedirectsMax && tried.result; ++i) {
      const auto next = redirect_of(url, request_.method, *tried.result);
      if (!next) break;
      url = *next;
      const Duration before = tried.took;
      tried = exchange(connections_, to_send(url.target), limits);
      tried.sent = true;
      tried.took += before;
    }
    return tried;
  }

  Exchange to_send(const std::string& target) const {
    // An idle connection may be closed at any moment; what cannot be repeated gets a fresh one.
    const bool repeatable = !key_.empty() || is_idempotent(request_.method);
    return {.head = head_of(request_, target, options_.key_header, key_value_),
            .body = request_.body,
            .is_head = request_.method == "HEAD",
            .fresh_connection = !repeatable,
            .answer_bytes_max = options_.answer_bytes_max};
  }

  // Returns false if it was ended by stop.
  bool sleep(Duration pause) {
    return wait_for(-1, 0, {steady_now() + pause, stop_}) == Waited::timeout;
  }

  void report(const Tried& tried, const Course::Step& step) const {
    if (!options_.on_try) return;
    const auto* again = std::get_if<Course::Again>(&step);
    options_.on_try({course_.tries(), course_.last(), key_, tried.took, again != nullptr,
                     again ? again->pause : Duration(0)});
  }

  void finish(const Course::Over& over) {
    sent_.end = over.end;
    sent_.key = key_;
    sent_.tries = course_.tries();
    sent_.same_key_may_retry = over.same_key_may_retry;
    sent_.new_key_safe = over.new_key_safe;
    sent_.stopped = stop_ && stop_->requested() && over.end != Sent::End::answered &&
                    over.end != Sent::End::replayed && over.end != Sent::End::refused;
    sent_.why = over.why;
    sent_.key_expires = course_.key_expires();
    sent_.retry_at = over.retry_at;
    const int status = sent_.answer.status;
    const bool final = over.end == Sent::End::answered || over.end == Sent::End::replayed;
    if (final && status >= 300 && status < 400) sent_.why += "; the redirect is not followed";
  }

  // Asks the status resource until the operation has ended.
  void follow() {
    const std::string* location = find_header(sent_.answer, "Location");
    const auto url = location ? resolve(request_.url, *location) : std::nullopt;
    if (!url || url->origin != request_.url.origin) {
      sent_.why += "; it names no status resource of this server";
      return;
    }
    Prepared ask = request_;
    ask.method = "GET";
    ask.body.clear();
    Exchange get{.head = head_of(ask, url->target, "", ""),
                 .answer_bytes_max = options_.answer_bytes_max};
    Duration pause = pause_after(sent_.answer);
    for (;;) {
      const bool in_time = steady_now() + pause < course_.deadline();
      if (!in_time || !sleep(pause)) {
        give_up_following(in_time ? "stopped" : "the operation has not ended before the deadline");
        return;
      }
      const Tried tried = exchange(connections_, get, {course_.try_until(steady_now()), stop_});
      pause = tried.result ? pause_after(*tried.result) : kFollowPause;
      if (!tried.result || is_passing(tried.result->status)) continue;
      const OperationStatus status = read_status(*tried.result);
      if (status.pending) continue;
      settle(status, *tried.result);
      return;
    }
  }

  static bool is_passing(int status) { return status == 429 || status >= 500; }

  static Duration pause_after(const Answer& answer) {
    return judge(answer, {"GET", false}, wall_now()).retry_after.value_or(kFollowPause);
  }

  void give_up_following(const char* why) {
    sent_.end = Sent::End::gave_up;
    sent_.same_key_may_retry = !key_.empty();
    sent_.new_key_safe = false;
    sent_.stopped = stop_ && stop_->requested();
    sent_.why = std::string("202; ") + why;
  }

  void settle(const OperationStatus& status, const Answer& shown) {
    sent_.answer = status.answer ? *status.answer : shown;
    sent_.end = status.end;
    sent_.why =
        status.why.empty() ? std::to_string(sent_.answer.status) + ", after 202" : status.why;
  }

  const ClientOptions& options_;
  Connections& connections_;
  const Prepared request_;
  const std::string key_;
  const std::string key_value_;
  const Stop* stop_;
  const SteadyPoint begun_;
  Course course_;
  Sent sent_;
};

}  // namespace

std::string_view to_string(Sent::End end) {
  switch (end) {
    case Sent::End::answered:
      return "answered";
    case Sent::End::replayed:
      return "replayed";
    case Sent::End::refused:
      return "refused";
    case Sent::End::gave_up:
      return "gave_up";
    case Sent::End::unknown:
      return "unknown";
  }
  return "";
}

struct Client::Inside {
  explicit Inside(Options given)
      : options(std::move(given)),
        base(parse_base(options.base_url)),
        connections(base.origin, base.origin.tls ? make_tls_context(options.tls) : nullptr) {
    if (!options.retry.budget) options.retry.budget = budget_of_the_process();
  }
  Options options;
  const Url base;
  Connections connections;
};

Client::Client(Options options) : inside_(std::make_unique<Inside>(std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Sent Client::send(const Request& request, const Key& key, const Stop* stop) {
  const Options& options = inside_->options;
  Prepared prepared = prepare(options, inside_->base, request);
  std::string text = key.kind_ == Key::Kind::fresh && is_safe(request.method) ? "" : key.text_;
  bool old = false;
  if (key.kind_ == Key::Kind::named) {
    if (options.keys_file.empty()) throw Error("a named key needs a keys file");
    const Time now = wall_now();
    const auto found =
        KeyFile(options.keys_file).find_or_add(key.name_, digest_of(prepared), text, now);
    if (!found) throw Error(found.error());
    text = found->key;
    old = now - found->made_at > kKeyOld;
  } else if (key.kind_ == Key::Kind::given && text.empty()) {
    throw Error("the key is empty");
  }
  Sent sent = Call(options, inside_->connections, std::move(prepared), std::move(text), stop).run();
  if (old) sent.why += "; the key is more than a day old, and the server may have forgotten it";
  return sent;
}

Sent Client::post(std::string path, std::string body, const Key& key) {
  return send({"POST", std::move(path), std::move(body), {}}, key);
}

bool Client::forget(const std::string& name) {
  if (inside_->options.keys_file.empty()) throw Error("a named key needs a keys file");
  const auto removed = KeyFile(inside_->options.keys_file).remove(name);
  if (!removed) throw Error(removed.error());
  return *removed;
}

}  // namespace semel
