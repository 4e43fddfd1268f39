#include "relay/database.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace semel::relay {

std::string_view Rows::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::number(int row, int column) const {
  const std::string_view raw = bytes(row, column);
  if (raw.empty()) return 0;
  std::uint64_t value = static_cast<signed char>(raw[0]) < 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : raw) value = (value << 8) | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

std::string array_of(std::span<const std::int64_t> numbers) {
  std::string out = "{";
  for (const std::int64_t number : numbers) {
    if (out.size() > 1) out += ',';
    out += std::to_string(number);
  }
  return out + '}';
}

std::string array_of(std::span<const std::string> texts) {
  std::string out = "{";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + '}';
}

std::string Database::trouble() const {
  std::string why = PQerrorMessage(connection_.get());
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return why.empty() ? "the connection to PostgreSQL ended" : why;
}

std::expected<Database, std::string> Database::connect(const std::string& url) {
  // What comes first is overruled by what the URL says itself.
  const char* const names[] = {"connect_timeout",
                               "tcp_user_timeout",
                               "keepalives_idle",
                               "fallback_application_name",
                               "client_encoding",
                               "dbname",
                               nullptr};
  const char* const values[] = {"10", "15000", "15", "semel relay", "UTF8", url.c_str(), nullptr};
  Database database(PQconnectdbParams(names, values, 1));
  if (PQstatus(database.connection_.get()) != CONNECTION_OK) {
    return std::unexpected(database.trouble());
  }
  const auto pid = database.query("SELECT pg_backend_pid()");
  if (!pid) return std::unexpected(pid.error());
  if (pid->number(0, 0) != PQbackendPID(database.connection_.get())) {
    return std::unexpected(
        "there is a connection pooler in between; the outbox needs a connection to PostgreSQL "
        "itself, since it waits for notifications and holds locks of a session");
  }
  return database;
}

std::expected<Rows, std::string> Database::query(
    const std::string& statement, const std::vector<std::optional<std::string>>& values) {
  std::vector<const char*> texts;
  for (const auto& value : values) texts.push_back(value ? value->c_str() : nullptr);
  Rows rows(nullptr);
  PGresult* result =
      PQexecParams(connection_.get(), statement.c_str(), static_cast<int>(texts.size()), nullptr,
                   texts.data(), nullptr, nullptr, 1);
  rows = Rows(result);
  const auto status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return std::unexpected(trouble());
  return rows;
}

std::expected<void, std::string> Database::run(const std::string& statements) {
  const Rows rows(PQexec(connection_.get(), statements.c_str()));
  if (PQtransactionStatus(connection_.get()) == PQTRANS_IDLE &&
      *PQerrorMessage(connection_.get()) == 0) {
    return {};
  }
  return std::unexpected(trouble());
}

bool Database::take_notifications() {
  bool any = false;
  while (PGnotify* notification = PQnotifies(connection_.get())) {
    any = true;
    PQfreemem(notification);
  }
  return any;
}

std::expected<bool, std::string> Database::wait(int other, Duration timeout) {
  // Some may have come along with the result of a statement.
  if (take_notifications()) return true;
  pollfd watched[] = {{PQsocket(connection_.get()), POLLIN, 0}, {other, POLLIN, 0}};
  const auto milliseconds = std::clamp<std::int64_t>(timeout.count(), 0, 60'000);
  if (poll(watched, 2, static_cast<int>(milliseconds)) < 0 && errno != EINTR) {
    return std::unexpected(std::string("poll: ") + std::strerror(errno));
  }
  if (watched[0].revents != 0 && PQconsumeInput(connection_.get()) == 0) {
    return std::unexpected(trouble());
  }
  return take_notifications();
}

}  // namespace semel::relay
