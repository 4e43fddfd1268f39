// The library inside of a shared one.
#include <semel/pg.h>

std::string take_order(PGconn* connection, const std::string& key) {
  const semel::pg::Operation orders{.name = "orders"};
  const semel::pg::Call call{.key = key, .tenant = "shop"};
  const auto result = semel::pg::once(connection, orders, call, [&](const semel::Claim&) {
    semel::pg::query(connection, "INSERT INTO orders DEFAULT VALUES");
    return semel::Answer{201, {}, "made"};
  });
  return std::holds_alternative<semel::pg::Executed>(result) ? "executed" : "not executed";
}
