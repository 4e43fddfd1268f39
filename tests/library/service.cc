#include <semel/completer.h>
#include <semel/derive.h>
#include <semel/driver/scope.h>

#include <cstdio>

// Takes one order on the database of the first argument, and prints what became of it.
int main(int, char** argv) {
  using namespace semel::pg;
  PGconn* connection = PQconnectdb(argv[1]);
  const PhasedOperation order =
      PhasedOperation("orders")
          .call("charge", [](ForeignCall& c, PhaseState& s) { s["key"] = c.key(); })
          .finish([](Transaction&, PhaseState& s) -> semel::Answer {
            return {201, {}, std::string(s.at("key").as_string())};
          });
  const Call call{.key = "order-1", .tenant = "shop"};
  const Result first = run(connection, order, call, "{}");
  const Result second = run(connection, order, call, "{}");
  const auto id = semel::make_id({"default", "shop", "orders"}, "order-1");
  const bool same = std::get<Executed>(first).answer == std::get<Replayed>(second).answer &&
                    std::get<Executed>(first).answer.body == semel::derive(id, "charge");
  std::puts(same ? "one order" : "something else");
  PQfinish(connection);
}
