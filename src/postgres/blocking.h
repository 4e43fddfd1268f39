#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "postgres/link.h"
#include "semel/time.h"

namespace semel::postgres {

// A connection to PostgreSQL itself, with this program's schema, for a thread that may block: one
// statement at a time, each in a transaction of its own.
class PgBlocking {
 public:
  // How long to wait for the reply to a statement. Otherwise a server that has stopped answering
  // without ending the connection would hold up everything else.
  static constexpr Duration kPatience = std::chrono::seconds(10);

  // The error is a sentence for the operator. Refuses a pooler in between, because locks and
  // notifications of a session would be somebody else's, and a schema that is not this program's.
  static std::expected<PgBlocking, std::string> connect(const std::string& url,
                                                        const std::string& schema,
                                                        Duration patience = kPatience);
  // Applies to the statements from now on.
  void set_patience(Duration patience) { patience_ = patience; }

  // Parameters are texts; nullopt is NULL. After an error the connection is of no use, unless the
  // server merely refused the statement. If no reply came in time, the statement may be executed
  // all the same, even later.
  std::expected<PgRows, std::string> query(
      const std::string& statement, const std::vector<std::optional<std::string>>& values = {});
  // Runs a statement without parameters or results.
  std::expected<void, std::string> run(const std::string& statement);

  // Waits until there is a notification, `other` is readable, or the time is over. True: there were
  // notifications. The error: the connection is gone.
  std::expected<bool, std::string> wait(int other, Duration timeout);

 private:
  PgBlocking(PgLink link, Duration patience) : link_(std::move(link)), patience_(patience) {}
  void set_deadline() { link_.set_deadline(std::chrono::steady_clock::now() + patience_); }
  bool take_notifications();

  PgLink link_;
  Duration patience_;
};

}  // namespace semel::postgres
