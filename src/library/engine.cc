// semel/semel.h, over v1::Inside.
#include "core/fingerprint/canonical_json.h"
#include "library/inside.h"

namespace semel {

std::string_view v1::to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::executed:
      return "executed";
    case Verdict::replayed:
      return "replayed";
    case Verdict::released:
      return "released";
    case Verdict::busy:
      return "busy";
    case Verdict::mismatch:
      return "mismatch";
    case Verdict::unknown:
      return "unknown";
    case Verdict::expired:
      return "expired";
    case Verdict::unavailable:
      break;
  }
  return "unavailable";
}

v1::Execution::Execution(std::unique_ptr<Held> held)
    : Claim(held->claim.plain()), held_(std::move(held)) {}
v1::Execution::Execution(Execution&&) noexcept = default;
v1::Execution& v1::Execution::operator=(Execution&&) noexcept = default;
v1::Execution::~Execution() = default;

bool v1::Execution::lost() const {
  return held_ && *held_->lost;
}

v1::Engine::Engine(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
v1::Engine::Engine(Engine&&) noexcept = default;

v1::Engine& v1::Engine::operator=(Engine&& other) noexcept {
  if (inside_) inside_->close();
  inside_ = std::move(other.inside_);
  return *this;
}

v1::Engine::~Engine() {
  if (inside_) inside_->close();
}

v1::detail::Settled v1::Engine::run(const Operation& operation, Call call,
                                    const detail::Work& work) {
  return inside_->run(operation, std::move(call), work);
}

v1::Begun v1::Engine::begin(const Operation& operation, Call call) {
  return inside_->begin(operation, std::move(call));
}
v1::Ended v1::Engine::finish(Execution execution, Answer answer) {
  return inside_->end(std::move(execution), {OutcomeKind::final, std::move(answer)});
}
v1::Ended v1::Engine::release(Execution execution, std::string why) {
  return inside_->end(std::move(execution), {OutcomeKind::retry, {}, std::move(why)});
}
v1::Ended v1::Engine::leave(Execution execution, std::string why) {
  return inside_->end(std::move(execution), {OutcomeKind::unknown, {}, std::move(why)});
}

void v1::Engine::begin(const Operation& operation, Call call, std::function<void(Begun)> done) {
  inside_->begin(operation, std::move(call), std::move(done));
}
void v1::Engine::finish(Execution execution, Answer answer, std::function<void(Ended)> done) {
  inside_->end(std::move(execution), {OutcomeKind::final, std::move(answer)}, std::move(done));
}
void v1::Engine::release(Execution execution, std::string why, std::function<void(Ended)> done) {
  inside_->end(std::move(execution), {OutcomeKind::retry, {}, std::move(why)}, std::move(done));
}
void v1::Engine::leave(Execution execution, std::string why, std::function<void(Ended)> done) {
  inside_->end(std::move(execution), {OutcomeKind::unknown, {}, std::move(why)}, std::move(done));
}

std::optional<v1::Engine::Entry> v1::Engine::find(const Operation& operation, const Call& call) {
  return inside_->find(operation, call);
}
void v1::Engine::each_unknown(const std::function<bool(const Entry&)>& visit) {
  inside_->each_unknown(visit);
}
bool v1::Engine::resolve(std::string_view record, std::optional<Answer> answer, std::string who,
                         std::string why) {
  return inside_->resolve(record, std::move(answer), std::move(who), std::move(why));
}
bool v1::Engine::healthy() const {
  return inside_->healthy();
}

v1::Engine v1::open(std::string_view url, Options options) {
  return Engine(Inside::open(url, std::move(options)));
}

std::string v1::parts(std::initializer_list<std::string_view> texts) {
  std::string joined;
  for (const std::string_view text : texts) {
    joined += std::to_string(text.size());
    joined += ':';
    joined += text;
  }
  return joined;
}

std::string v1::canonical_json(std::string_view text) {
  auto form = core::canonical_json(text);
  return form ? *std::move(form) : std::string(text);
}

}  // namespace semel
