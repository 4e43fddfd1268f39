#include <semel/completer.h>
#include <semel/derive.h>
#include <semel/scope.h>

#include <cstdio>

// Takes one order on the database of the first argument, and prints what became of it.
int main(int, char** argv) {
  using namespace semel::pg;
  PGconn* connection = PQconnectdb(argv[1]);
  const Operation order = Operation("orders")
                              .call("charge", [](Call& c, PhaseState& s) { s["key"] = c.key(); })
                              .finish([](Transaction&, PhaseState& s) -> semel::Answer {
                                return {201, {}, std::string(s.at("key").as_string())};
                              });
  const Claim claim{.tenant = "shop", .key = "order-1"};
  const Result first = run(connection, order, claim, "{}");
  const Result second = run(connection, order, claim, "{}");
  const auto id = semel::make_id({"default", "shop", "orders"}, "order-1");
  const bool same = std::get<Executed>(first).answer == std::get<Replayed>(second).answer &&
                    std::get<Executed>(first).answer.body == semel::derive(id, "charge");
  std::puts(same ? "one order" : "something else");
  PQfinish(connection);
}
