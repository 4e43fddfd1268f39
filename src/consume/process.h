#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/admin.h"
#include "consume/consumer.h"

namespace semel::consume {

// Runs every entry of `consume` in one process: the store, the workers, the admin listener and one
// consumer per entry. Shared by `semel consume` and programs with functions of their own.
class ConsumeProcess {
 public:
  using MakeHandler = std::function<std::unique_ptr<MessageHandler>(
      runtime::Worker& worker, const runtime::Route& route, const config::ConsumeConfig& entry)>;

  // Opens the store and the admin listener; fetches nothing yet. The error is a sentence for the
  // operator.
  static std::expected<std::unique_ptr<ConsumeProcess>, std::string> open(
      config::Config config, const MakeHandler& make_handler);
  ~ConsumeProcess();

  config::HostPort admin() const { return admin_->listening(); }
  server::Process& process() { return *process_; }
  // Returns the loop for what runs once per process.
  boost::asio::io_context& context() { return process_->context(); }

  // Takes messages until drained.
  void run();
  // Takes no more messages, finishes those that run (drain_timeout), returns the rest; then run()
  // returns. Thread-safe, also before run().
  void drain();

 private:
  ConsumeProcess() = default;

  std::unique_ptr<server::Process> process_;
  std::unique_ptr<admin::Admin> admin_;
  std::vector<std::unique_ptr<QueueConsumer>> consumers_;  // by route
};

}  // namespace semel::consume
