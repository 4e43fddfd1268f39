#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/demo/child.h"
#include "cli/demo/client.h"
#include "cli/demo/payments.h"

namespace semel::cli {
namespace {

constexpr int kAtOnce = 50;
constexpr auto kSlowCharge = std::chrono::milliseconds(300);
const std::string kBody = R"({"amount":4200,"currency":"eur"})";

// Shortens a problem document to its code and what differs; returns anything else as it is.
std::string in_short(const std::string& body) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(body, error);
  if (error || !value.is_object() || !value.as_object().contains("code")) return body;
  std::string out = boost::json::value_to<std::string>(value.at("code"));
  if (const auto* differs = value.as_object().if_contains("differs")) {
    out += ", differs in " + boost::json::serialize(*differs);
  }
  return out;
}

// A temporary folder that is removed with the demo.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "semel-demo-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot create a temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::uint16_t port_of(const std::string& line) {
  return static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
}

// Runs `semel serve` in front of the payments API, in a process of its own so that it can be
// killed.
class DemoGateway {
 public:
  DemoGateway(const Folder& folder, std::uint16_t upstream_port)
      : folder_(folder), upstream_port_(upstream_port) {
    start();
  }

  void start() {
    std::ofstream(folder_.file("semel.yaml")) << fmt::format(
        "listen: 127.0.0.1:{}\n"
        "admin: {{listen: 127.0.0.1:{}}}\n"
        "store: {{kind: embedded, path: {}, free_bytes_min: 0}}\n"
        "tenant: {{from: none}}\n"
        "routes:\n"
        "  - name: charges\n"
        "    path: /v1/charges\n"
        "    upstream: http://127.0.0.1:{}\n"
        "    key: {{required: true}}\n"
        "    in_progress: wait\n"
        "  - path: /*\n"
        "    methods: []\n"
        "    upstream: http://127.0.0.1:{}\n",
        port_, admin_port_, folder_.file("data"), upstream_port_, upstream_port_);
    child_.emplace(std::vector<std::string>{"serve", "--config", folder_.file("semel.yaml")},
                   folder_.file("semel.log"));
    for (std::string line = child_->read_line(); line != "ready"; line = child_->read_line()) {
      if (line.empty()) {
        std::ifstream log(folder_.file("semel.log"));
        throw std::runtime_error("the gateway did not start:\n" +
                                 std::string(std::istreambuf_iterator<char>(log), {}));
      }
      if (line.starts_with("listening http")) port_ = port_of(line);
      if (line.starts_with("listening admin")) admin_port_ = port_of(line);
    }
  }

  void kill_hard() {
    child_->signal(SIGKILL);
    child_->wait();
  }
  void stop() {
    child_->signal(SIGTERM);
    child_->wait();
  }
  std::uint16_t port() const { return port_; }
  std::uint16_t admin_port() const { return admin_port_; }

 private:
  const Folder& folder_;
  std::uint16_t upstream_port_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
  std::optional<Child> child_;
};

// The story, step by step. Every step says what it expects and remembers whether it held.
class Walk {
 public:
  Walk(DemoPayments& payments, DemoGateway& gateway) : payments_(payments), gateway_(gateway) {}

  bool run() {
    first_and_retry();
    other_amount();
    many_at_once();
    lost_answer();
    killed();
    return held_;
  }

 private:
  void title(const std::string& text) { fmt::print("\n{}. {}\n", ++step_, text); }

  void show(const DemoAnswer& answer) {
    fmt::print("   {} {}{}\n", answer.status, in_short(answer.body),
               answer.replayed ? "   (Idempotency-Replayed: true)" : "");
  }

  void expect(bool held, int charges) {
    const bool once = payments_.charges() == charges;
    held_ = held_ && held && once;
    fmt::print("   charges made so far: {}   {}\n", payments_.charges(),
               held && once ? "as it should be" : "WRONG");
    std::fflush(stdout);
  }

  DemoAnswer post(const std::string& key, const std::string& body = kBody) {
    return post_charge({.port = gateway_.port(), .key = key, .body = body});
  }

  void first_and_retry() {
    title("A first request with the key order-1001 is executed");
    const DemoAnswer first = post("order-1001");
    show(first);
    expect(first.status == 201 && !first.replayed, 1);
    title("The same request again: the answer is replayed, nothing is charged");
    const DemoAnswer retry = post("order-1001", R"({ "currency":"eur", "amount":4200.0 })");
    show(retry);
    expect(retry.status == 201 && retry.replayed && retry.body == first.body, 1);
  }

  void other_amount() {
    title("The same key with another amount is refused");
    const DemoAnswer other = post("order-1001", R"({"amount":9900,"currency":"eur"})");
    show(other);
    expect(other.status == 422, 1);
  }

  void many_at_once() {
    title(fmt::format("{} requests with the key order-1002 at once: one charge, {} equal answers",
                      kAtOnce, kAtOnce));
    payments_.set_delay(kSlowCharge);
    std::vector<DemoAnswer> answers(kAtOnce);
    std::vector<std::thread> clients;
    for (DemoAnswer& answer : answers) {
      clients.emplace_back([this, &answer] { answer = post("order-1002"); });
    }
    for (auto& client : clients) client.join();
    payments_.set_delay({});
    std::set<std::string> distinct;
    int created = 0;
    for (const DemoAnswer& answer : answers) {
      distinct.insert(answer.body);
      created += answer.status == 201;
    }
    fmt::print("   {} times 201, {} distinct: {}\n", created, distinct.size(), *distinct.begin());
    expect(created == kAtOnce && distinct.size() == 1, 2);
  }

  void lost_answer() {
    title("The client goes away before the answer to order-1003 comes; its retry gets that answer");
    payments_.set_delay(kSlowCharge);
    const int arrived = payments_.arrivals();
    post_charge({.port = gateway_.port(),
                 .key = "order-1003",
                 .body = kBody,
                 .read = false,
                 .when_sent = [&] { payments_.wait_for_arrivals(arrived + 1); }});
    payments_.set_delay({});
    const DemoAnswer retry = post("order-1003");
    show(retry);
    expect(retry.status == 201 && retry.replayed, 3);
  }

  void killed() {
    title("The gateway is killed with -9 while order-1004 is being charged, and started again");
    payments_.set_delay(kSlowCharge);
    const int arrived = payments_.arrivals();
    const DemoAnswer cut =
        post_charge({.port = gateway_.port(), .key = "order-1004", .body = kBody, .when_sent = [&] {
                       payments_.wait_for_arrivals(arrived + 1);
                       gateway_.kill_hard();
                     }});
    payments_.set_delay({});
    gateway_.start();
    fmt::print("   {}\n", cut.status == 0 ? "the connection broke, no answer" : cut.body);
    const DemoAnswer retry = post("order-1004");
    show(retry);
    fmt::print("   Nobody can know whether that charge went through, so it is not made again.\n");
    expect(cut.status == 0 && retry.status == 409, 4);

    title("What was answered before the kill is still replayed");
    const DemoAnswer old = post("order-1001");
    show(old);
    expect(old.status == 201 && old.replayed, 4);
  }

  DemoPayments& payments_;
  DemoGateway& gateway_;
  int step_ = 0;
  bool held_ = true;
};

void wait_for_signal(const sigset_t& signals) {
  int number = 0;
  sigwait(&signals, &number);
}

int demo(bool once) {
  // Blocked before any thread starts, so that the wait below gets them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (!once) pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Folder folder;
  DemoPayments payments;
  DemoGateway gateway(folder, payments.port());
  fmt::print("A payments API at 127.0.0.1:{}, and semel in front of it at 127.0.0.1:{}.\n",
             payments.port(), gateway.port());
  const bool held = Walk(payments, gateway).run();
  fmt::print("\n{}\n", held ? "Every step held." : "A step did not hold.");
  if (once) {
    gateway.stop();
    return held ? kExitOk : kExitFailed;
  }
  fmt::print(
      "\nThe demo runs until Ctrl-C. Try:\n"
      "  curl -i http://127.0.0.1:{0}/v1/charges -H 'Idempotency-Key: \"my-key\"' \\\n"
      "       -H 'Content-Type: application/json' -d '{1}'\n"
      "  curl http://127.0.0.1:{0}/.semel/policy\n"
      "  curl http://127.0.0.1:{2}/metrics\n",
      gateway.port(), kBody, gateway.admin_port());
  std::fflush(stdout);
  wait_for_signal(signals);
  gateway.stop();
  return held ? kExitOk : kExitFailed;
}

}  // namespace

void add_demo(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "demo",
      "Start a payments API with the gateway in front of it and walk through the main cases");
  command->group(kGroupLearn);
  auto once = std::make_shared<bool>(false);
  command->add_flag("--once", *once,
                    "Exit after the last step, with code 0 only if every step held");
  command->callback([&run, once] { run = [once] { return demo(*once); }; });
}

}  // namespace semel::cli
