#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "admin/decider.h"
#include "admin/key_search.h"
#include "admin/keys_api.h"
#include "cli/admin/reply.h"
#include "config/config.h"
#include "server/process.h"

namespace semel::cli {

// Answers /api/keys and /api/queue from the store itself, with the code of the admin listener.
// Nothing is executed, recovered or expired meanwhile. Changes are the engine's own, so they are as
// safe as on a gateway: an embedded store cannot be open elsewhere, and a shared store decides
// between all who write.
class LocalAdmin {
 public:
  // `has_token`: recorded answers may be shown. The error is a sentence that says why the store
  // cannot be used from here.
  static std::expected<std::unique_ptr<LocalAdmin>, std::string> open(const config::Config& config,
                                                                      bool has_token);
  ~LocalAdmin();

  static bool serves(std::string_view target);
  AdminReply ask(bool changes, const std::string& target, const std::string& body);
  // Returns "the embedded store /var/lib/semel".
  const std::string& described() const { return described_; }

 private:
  LocalAdmin(std::unique_ptr<server::Process> process, std::string described, bool has_token);
  boost::asio::awaitable<Answer> read(std::string path, std::string query);
  boost::asio::awaitable<Answer> change(std::string path, std::string body);

  std::unique_ptr<server::Process> process_;
  admin::KeySearch search_;
  admin::KeysApi keys_;
  admin::Decider decider_;
  // Keeps the loop from stopping between two questions.
  const boost::asio::executor_work_guard<boost::asio::io_context::executor_type> busy_;
  const std::string described_;
  const bool has_token_;
};

}  // namespace semel::cli
