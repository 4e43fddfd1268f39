#include "postgres/blocking.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "postgres/schema.h"

namespace semel::postgres {

std::expected<PgBlocking, std::string> PgBlocking::connect(const std::string& url,
                                                           const std::string& schema,
                                                           Duration patience) {
  auto link = PgLink::connect(url);
  if (!link) return std::unexpected(std::move(link.error()));
  const auto be_patient = [&] { link->set_deadline(std::chrono::steady_clock::now() + patience); };
  be_patient();
  const auto pid = link->run("SELECT pg_backend_pid()");
  if (!pid) return std::unexpected(pid.error().why);
  if (pid->number(0, 0) != link->backend_pid()) {
    return std::unexpected(
        "there is a connection pooler between Semel and PostgreSQL; connect to PostgreSQL itself, "
        "since the outbox waits for notifications and holds session locks");
  }
  be_patient();
  auto misfit = misfit_of_schema(*link, schema);
  be_patient();
  if (!misfit) misfit = misfit_of_rights(*link, schema);
  if (misfit) return std::unexpected(std::move(misfit->why));
  return PgBlocking(*std::move(link), patience);
}

std::expected<PgRows, std::string> PgBlocking::query(
    const std::string& statement, const std::vector<std::optional<std::string>>& values) {
  std::vector<const char*> texts;
  for (const auto& value : values) texts.push_back(value ? value->c_str() : nullptr);
  set_deadline();
  auto rows = link_.run(statement, texts);
  if (rows) return *std::move(rows);
  PgError error = std::move(rows.error());
  return std::unexpected(std::move(error.why) +
                         (error.lost ? "; it is not known whether the statement took effect" : ""));
}

std::expected<void, std::string> PgBlocking::run(const std::string& statement) {
  set_deadline();
  const auto rows = link_.run(statement);
  if (!rows) return std::unexpected(rows.error().why);
  return {};
}

bool PgBlocking::take_notifications() {
  bool any = false;
  while (PGnotify* notification = PQnotifies(link_.get())) {
    any = true;
    PQfreemem(notification);
  }
  return any;
}

std::expected<bool, std::string> PgBlocking::wait(int other, Duration timeout) {
  // Notifications may have come along with the result of a statement.
  if (take_notifications()) return true;
  pollfd watched[] = {{PQsocket(link_.get()), POLLIN, 0}, {other, POLLIN, 0}};
  const auto milliseconds = std::clamp<std::int64_t>(timeout.count(), 0, 60'000);
  if (poll(watched, 2, static_cast<int>(milliseconds)) < 0 && errno != EINTR) {
    return std::unexpected(std::string("poll: ") + std::strerror(errno));
  }
  if (watched[0].revents != 0 && PQconsumeInput(link_.get()) == 0) {
    return std::unexpected(pg_error(link_.get(), nullptr).why);
  }
  return take_notifications();
}

}  // namespace semel::postgres
