#include "consume/consumed_message.h"

#include <atomic>

#include "http/message.h"

namespace semel::consume {

struct Message::Inside {
  std::shared_ptr<const BrokerMessage> message;
  std::string id;
};

Message::Message(std::shared_ptr<const Inside> inside) : inside_(std::move(inside)) {}

const std::string& Message::id() const {
  return inside_->id;
}
const std::string& Message::body() const {
  return inside_->message->body;
}
const std::string& Message::content_type() const {
  return inside_->message->content_type;
}
const std::vector<Header>& Message::properties() const {
  return inside_->message->properties;
}
const std::vector<Header>& Message::headers() const {
  return inside_->message->headers;
}
bool Message::redelivered() const {
  return inside_->message->redelivered;
}

const std::string* Message::header(std::string_view name) const {
  for (const Header& header : headers()) {
    if (http::iequals(header.name, name)) return &header.value;
  }
  return nullptr;
}

Outcome done(Answer answer) {
  return {.kind = OutcomeKind::final, .answer = std::move(answer), .reason = "done"};
}
Outcome retry(std::string why) {
  return {.kind = OutcomeKind::retry, .answer = {}, .reason = std::move(why)};
}
Outcome unknown(std::string why) {
  return {.kind = OutcomeKind::unknown, .answer = {}, .reason = std::move(why)};
}

struct Done::Told {
  explicit Told(std::function<void(Outcome)> tell_in) : tell(std::move(tell_in)) {}
  Told(const Told&) = delete;
  ~Told() {
    if (!is_told) tell(unknown("the function dropped the message without an outcome"));
  }
  std::atomic<bool> is_told = false;
  const std::function<void(Outcome)> tell;
};

Done::Done(std::function<void(Outcome)> tell) : told_(std::make_shared<Told>(std::move(tell))) {}

void Done::operator()(Outcome outcome) const {
  if (!told_->is_told.exchange(true)) told_->tell(std::move(outcome));
}

Message consume_message(std::shared_ptr<const BrokerMessage> message, std::string id) {
  using Inside = Message::Inside;
  return Message(std::make_shared<const Inside>(Inside{std::move(message), std::move(id)}));
}

}  // namespace semel::consume
