// Around the snippets of docs/client.md: each is put in place of the line that names it. Compiled,
// not run: tests/e2e/client has both.
#include <semel/client.h>

#include <csignal>

void save_for_later(const std::string&) {}

void send_until_stopped(semel::Client& shop, const std::string& body) {
  // snippet: stop
}
