// Around the snippets of docs/library.md: each is put in place of the line that names it. Run with
// the URL of a database that has the schema and tests/docs/library.sql.
#include <semel/completer.h>
#include <semel/pg_inbox.h>

#include <cstdio>
#include <cstdlib>
#include <map>

// snippet: once

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

int count(PGconn* connection, const std::string& table) {
  return std::stoi(std::string(query(connection, "SELECT count(*) FROM " + table).at(0, 0)));
}

void tries_once(PGconn* connection) {
  const Result first = take_order(connection, "k-1", "{\"item\":\"tea\"}");
  const Result again = take_order(connection, "k-1", "{\"item\":\"tea\"}");
  const Result other = take_order(connection, "k-1", "{\"item\":\"ale\"}");
  expect(std::get<Executed>(first).answer == std::get<Replayed>(again).answer, "once: replayed");
  expect(std::holds_alternative<Mismatch>(other), "once: another body is a mismatch");
  expect(count(connection, "orders") == 1, "once: one order");
}

void completes_what_was_handed_on(PGconn* connection) {
  const Rows made = query(connection,
                          "SELECT encode(record, 'hex'), encode(token, 'hex') "
                          "FROM semel.claim('shop', 'orders', 'k-2')");
  std::map<std::string, std::string> request = {{"Semel-Record", std::string(made.at(0, 0))},
                                                {"Semel-Token", std::string(made.at(0, 1))}};
  const std::string body = "tea";
  const Answer answer{201, {}, "made"};
  // snippet: claimed
  const Rows now = query(connection, "SELECT verdict FROM semel.claim('shop', 'orders', 'k-2')");
  expect(now.at(0, 0) == "replay", "claimed: completed");
  expect(count(connection, "orders") == 2, "claimed: one more order");
}

InboxResult deliver(PGconn* connection) {
  const struct {
    std::string id, body;
  } message{"m-1", "pay 7"};
  // snippet: inbox
  return result;
}

void pays_once(PGconn* connection) {
  expect(!std::get<inbox::Done>(deliver(connection)).before, "inbox: done now");
  const auto again = std::get<inbox::Done>(deliver(connection));
  expect(again.before && again.answer.status == 200, "inbox: done before");
  expect(count(connection, "payments") == 1, "inbox: one payment");
}

int payments = 0;

std::string pay(const std::string& key, const PhaseState&) {
  ++payments;
  return "ch_" + key;
}

Result create(PGconn* connection, const std::string& key, const std::string& body) {
  // snippet: phases
  // snippet: completer
  expect(done.resumed.empty() && done.stuck.empty(), "completer: nothing is left behind");
  return result;
}

void runs_in_phases(PGconn* connection) {
  const Result first = create(connection, "k-3", "{\"item\":\"tea\"}");
  const Result again = create(connection, "k-3", "{\"item\":\"tea\"}");
  expect(std::get<Executed>(first).answer == std::get<Replayed>(again).answer, "phases: replayed");
  expect(payments == 1, "phases: one call");
  expect(count(connection, "orders WHERE charge LIKE 'ch_%'") == 1, "phases: one order");
}

}  // namespace

int main(int, char** argv) {
  PGconn* connection = PQconnectdb(argv[1]);
  tries_once(connection);
  completes_what_was_handed_on(connection);
  pays_once(connection);
  runs_in_phases(connection);
  PQfinish(connection);
  std::puts("all of it");
}
