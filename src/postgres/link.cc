#include "postgres/link.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"

namespace semel::postgres {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 7> kWhereTheUrlDoesNotSay = {{
    {"connect_timeout", "3"},
    {"keepalives_idle", "10"},
    {"keepalives_interval", "3"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "10000"},
    {"application_name", "semel"},
    {"client_encoding", "UTF8"},
}};

struct Free {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
  void operator()(char* text) const { PQfreemem(text); }
};
using Options = std::unique_ptr<PQconninfoOption, Free>;

std::expected<Options, std::string> parse(const std::string& url) {
  char* error = nullptr;
  Options options(PQconninfoParse(url.c_str(), &error));
  const std::unique_ptr<char, Free> why(error);
  if (!options) {
    return std::unexpected(std::string(base::without_line_end(why ? why.get() : "out of memory")));
  }
  return options;
}

bool names_several_hosts(const PQconninfoOption* option) {
  for (; option->keyword; ++option) {
    const std::string_view keyword = option->keyword;
    if ((keyword == "host" || keyword == "hostaddr") && option->val &&
        std::strchr(option->val, ',')) {
      return true;
    }
  }
  return false;
}

PGconn* open_pg(const std::string& url) {
  const auto options = parse(url);
  if (!options) return PQconnectdb(url.c_str());  // sets the error message
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const PQconninfoOption* option = options->get(); option->keyword; ++option) {
    if (!option->val) continue;
    keywords.push_back(option->keyword);
    values.push_back(option->val);
  }
  const auto set = [&](const char* keyword, const char* value) {
    const auto is_it = [&](const char* said) { return std::strcmp(said, keyword) == 0; };
    if (std::ranges::any_of(keywords, is_it)) return;
    keywords.push_back(keyword);
    values.push_back(value);
  };
  for (const auto& [keyword, value] : kWhereTheUrlDoesNotSay) set(keyword, value);
  if (names_several_hosts(options->get())) set("target_session_attrs", "read-write");
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectdbParams(keywords.data(), values.data(), 0);
}

PgError no_reply() {
  return {.why = "no reply in time", .sqlstate = {}, .lost = true};
}

}  // namespace

PgError pg_error(PGconn* connection, const PGresult* result) {
  PgError error;
  const char* sqlstate = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  const char* message = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  const char* hint = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) : nullptr;
  if (sqlstate) error.sqlstate = sqlstate;
  if (hint) error.hint = hint;
  error.why = message ? message : base::without_line_end(PQerrorMessage(connection));
  return error;
}

std::optional<std::string> PgLink::trouble_of_url(const std::string& url) {
  const auto options = parse(url);
  if (options) return std::nullopt;
  return options.error();
}

std::expected<PgLink, std::string> PgLink::connect(const std::string& url) {
  PgLink link(open_pg(url));
  if (PQstatus(link.get()) != CONNECTION_OK) {
    return std::unexpected(pg_error(link.get(), nullptr).why);
  }
  // A server that stops reading must not hold up its writers beyond the deadline.
  PQsetnonblocking(link.get(), 1);
  return link;
}

std::expected<PgRows, PgError> PgLink::run(const std::string& statement) {
  return run(statement, {});
}

std::expected<PgRows, PgError> PgLink::run(const std::string& statement,
                                           const std::vector<const char*>& values) {
  constexpr int kBinary = 1;
  return reply(PQsendQueryParams(get(), statement.c_str(), static_cast<int>(values.size()), nullptr,
                                 values.data(), nullptr, nullptr, kBinary));
}

std::expected<void, PgError> PgLink::run_script(const std::string& statements) {
  const auto ran = reply(PQsendQuery(get(), statements.c_str()));
  if (!ran) return std::unexpected(ran.error());
  return {};
}

std::expected<void, PgError> PgLink::prepare(const std::string& name,
                                             const std::string& statement) {
  const auto prepared = reply(PQsendPrepare(get(), name.c_str(), statement.c_str(), 0, nullptr));
  if (!prepared) return std::unexpected(prepared.error());
  return {};
}

std::expected<PgRows, PgError> PgLink::reply(int sent) {
  if (sent != 1) return std::unexpected(pg_error(get(), nullptr));
  if (auto flushed = flush(); !flushed) return std::unexpected(std::move(flushed.error()));
  std::expected<PgRows, PgError> outcome =
      std::unexpected(PgError{.why = "no result", .sqlstate = {}, .lost = true});
  for (;;) {
    while (PQisBusy(get())) {
      if (!wait_for(POLLIN)) return std::unexpected(no_reply());
      if (PQconsumeInput(get()) != 1) return std::unexpected(pg_error(get(), nullptr));
    }
    PGresult* result = PQgetResult(get());
    if (!result) return outcome;
    PgRows rows(result);
    const auto status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      outcome = std::move(rows);
    } else {
      outcome = std::unexpected(pg_error(get(), result));
    }
  }
}

std::expected<void, PgError> PgLink::flush() {
  for (;;) {
    const int left = PQflush(get());
    if (left == 0) return {};
    if (left < 0) return std::unexpected(pg_error(get(), nullptr));
    if (!wait_for(POLLIN | POLLOUT)) return std::unexpected(no_reply());
    // The server may have stopped reading until its output is read.
    if (PQconsumeInput(get()) != 1) return std::unexpected(pg_error(get(), nullptr));
  }
}

bool PgLink::wait_for(short events) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLookEvery = std::chrono::seconds(10);
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline_) return false;
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - now);
    pollfd socket{PQsocket(get()), events, 0};
    const int ready = poll(&socket, 1, static_cast<int>(std::min(left, kLookEvery).count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace semel::postgres
