// Around the snippets of docs/consume.md: each is put in place of the line that names it. Compiled,
// not run: tests/e2e/messages has both.
#include <semel/consume.h>
#include <semel/driver/inbox.h>

#include <stdexcept>

semel::Outcome charge(const semel::consume::Message&, const semel::Claim&) {
  return semel::consume::done();
}

struct Message {
  std::string id, body;
};
struct Broker {
  void ack(const Message&) {}
};

boost::asio::awaitable<semel::Outcome> handle(const semel::Claim&) {
  co_return semel::Outcome{
      .kind = semel::OutcomeKind::final, .answer = {200, {}, {}}, .reason = ""};
}

void consume_with_a_function() {
  // snippet: function
}

boost::asio::awaitable<void> take(semel::Engine& engine, Broker broker, Message message) {
  const semel::Operation operation;
  // snippet: inbox
}
