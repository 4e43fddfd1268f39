#include "order.h"

#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include "crash.h"

namespace orders {
namespace {

namespace http = boost::beast::http;
namespace json = boost::json;
using semel::Answer;
using semel::pg::ForeignCall;
using semel::pg::PhaseState;
using semel::pg::Transaction;

void reserve(Transaction& t, PhaseState& state) {
  const json::value asked = json::parse(t.arguments());
  const auto amount = asked.at("amount").to_number<std::int64_t>();
  const auto rows =
      t.query("INSERT INTO orders (item, amount, status) VALUES ($1, $2, 'reserved') RETURNING id",
              {std::string(asked.at("item").as_string()), std::to_string(amount)});
  state["order"] = std::string(rows.at(0, 0));
  state["amount"] = amount;
}

// May be made again after a crash, always with the same key and the same body.
void charge(const Address& processor, ForeignCall& call, PhaseState& state) {
  Request request(http::verb::post, "/charges", 11);
  request.set("Idempotency-Key", call.key());
  request.set(http::field::content_type, "application/json");
  request.body() =
      json::serialize(json::object{{"order", state.at("order")}, {"amount", state.at("amount")}});
  const Response answer = ask(processor, std::move(request));
  if (answer.result() == http::status::payment_required) {
    state["declined"] = true;
    return;
  }
  if (answer.result() != http::status::created) {
    throw std::runtime_error("the card processor answered " + std::to_string(answer.result_int()));
  }
  state["charge"] = json::parse(answer.body()).at("id");
}

void book(Transaction& t, PhaseState& state) {
  const std::string order(state.at("order").as_string());
  if (state.contains("declined")) {
    t.query("UPDATE orders SET status = 'declined' WHERE id = $1", {order});
    return;
  }
  t.query("UPDATE orders SET status = 'paid', charge = $2 WHERE id = $1",
          {order, std::string(state.at("charge").as_string())});
  const std::string mail = json::serialize(json::object{{"order", order}, {"mail", "confirmed"}});
  t.query(
      "SELECT semel.enqueue(destination => 'mail', payload => $1, ordering_key => $2, "
      "record => $3)",
      {mail, order, "\\x" + t.record().hex()});
}

Answer finish(Transaction&, PhaseState& state) {
  const bool declined = state.contains("declined");
  const json::object body{{"id", state.at("order")}, {"status", declined ? "declined" : "paid"}};
  return {declined ? 402 : 201, {{"Content-Type", "application/json"}}, json::serialize(body)};
}

}  // namespace

semel::pg::PhasedOperation create_order(const Address& processor) {
  return semel::pg::PhasedOperation("orders.create")
      .phase("reserve",
             [](Transaction& t, PhaseState& state) {
               reserve(t, state);
               crash_at("reserve");
             })
      .call("charge",
            [processor](ForeignCall& call, PhaseState& state) {
              crash_at("before-charge");
              charge(processor, call, state);
              crash_at("after-charge");
            })
      .phase("book",
             [](Transaction& t, PhaseState& state) {
               book(t, state);
               crash_at("book");
             })
      .finish([](Transaction& t, PhaseState& state) {
        Answer answer = finish(t, state);
        crash_at("finish");
        return answer;
      });
}

}  // namespace orders
