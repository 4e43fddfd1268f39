// The promise: rows are passed on only after their commit. The rows of a statement arrive before
// its commit, which comes with the pipeline's sync; so they are held back until then.
#include "postgres/connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace semel::postgres {
namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

namespace {

constexpr auto kBetweenBytes = std::chrono::seconds(2);

// Returns true if another connection may work better: the server was demoted and is read-only, or
// the schema was changed under the prepared statements.
bool spoils_session(const PgError& error) {
  return error.sqlstate == sqlstate::kReadOnlyTransaction ||
         error.sqlstate == sqlstate::kFeatureNotSupported ||
         error.sqlstate == sqlstate::kInvalidStatementName ||
         error.sqlstate.starts_with(sqlstate::kAccessRuleViolations);
}

}  // namespace

std::expected<std::shared_ptr<PgConnection>, std::string> PgConnection::make(
    asio::io_context& context, PgLink link, Events events) {
  if (PQsetnonblocking(link.get(), 1) != 0 || PQenterPipelineMode(link.get()) != 1) {
    return std::unexpected(pg_error(link.get(), nullptr).why);
  }
  std::shared_ptr<PgConnection> made(new PgConnection(context, std::move(link), std::move(events)));
  PQsetNoticeReceiver(made->link_.get(), &PgConnection::on_notice, made.get());
  made->wait_readable();
  return made;
}

PgConnection::PgConnection(asio::io_context& context, PgLink link, Events events)
    : link_(std::move(link)),
      descriptor_(context, PQsocket(link_.get())),
      events_(std::move(events)) {}

PgConnection::~PgConnection() {
  // libpq closes its socket itself.
  if (descriptor_.is_open()) descriptor_.release();
}

void PgConnection::send(PgCall call) {
  if (!open_) {
    call.reply(std::unexpected(PgError{.why = "the connection is closed", .sqlstate = {}}));
    return;
  }
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const PgValue& value : call.parameters) {
    values.push_back(value.bytes ? value.bytes->data() : nullptr);
    lengths.push_back(value.bytes ? static_cast<int>(value.bytes->size()) : 0);
  }
  const auto asked_at = std::chrono::steady_clock::now();
  constexpr int kBinary = 1;
  const std::vector<int> formats(values.size(), kBinary);
  const int sent =
      PQsendQueryPrepared(link_.get(), call.statement.c_str(), static_cast<int>(values.size()),
                          values.data(), lengths.data(), formats.data(), kBinary);
  calls_.push_back(
      {.reply = std::move(call.reply), .asked_at = asked_at, .deadline = call.deadline});
  if (sent != 1 || PQpipelineSync(link_.get()) != 1) {
    close(pg_error(link_.get(), nullptr).why);
    return;
  }
  flush();
}

void PgConnection::flush() {
  const int left = PQflush(link_.get());
  if (left < 0) return close(pg_error(link_.get(), nullptr).why);
  if (left > 0) wait_writable();
}

void PgConnection::wait_writable() {
  if (waits_writable_) return;
  waits_writable_ = true;
  auto self = shared_from_this();
  descriptor_.async_wait(Descriptor::wait_write, [self](boost::system::error_code error) {
    self->waits_writable_ = false;
    if (!error && self->open_) self->flush();
  });
}

void PgConnection::wait_readable() {
  auto self = shared_from_this();
  descriptor_.async_wait(Descriptor::wait_read, [self](boost::system::error_code error) {
    if (!error && self->open_) self->on_readable();
  });
}

void PgConnection::on_readable() {
  if (PQconsumeInput(link_.get()) != 1) {
    // Results that arrived before the end still count.
    if (take_results()) close(pg_error(link_.get(), nullptr).why);
    return;
  }
  flush();
  if (!open_ || !take_results()) return;
  // A large reply is not overdue while it is arriving.
  if (!calls_.empty()) {
    auto& deadline = calls_.front().deadline;
    deadline = std::max(deadline, std::chrono::steady_clock::now() + kBetweenBytes);
  }
  take_notifications();
  if (open_) wait_readable();
}

bool PgConnection::take_results() {
  while (open_ && !calls_.empty() && !PQisBusy(link_.get())) {
    PGresult* result = PQgetResult(link_.get());
    if (result) {
      take(result);
    } else if (PQstatus(link_.get()) == CONNECTION_BAD) {
      close(pg_error(link_.get(), nullptr).why);
    }
  }
  return open_;
}

void PgConnection::take(PGresult* result) {
  PgRows rows(result);
  Sent& call = calls_.front();
  const auto status = PQresultStatus(result);
  if (status == PGRES_PIPELINE_SYNC) {
    if (not_replicated_)
      return close("the server did not wait for the synchronous standby to acknowledge a commit");
    Sent done = std::move(calls_.front());
    calls_.pop_front();
    if (!done.outcome && spoils_session(done.outcome.error())) close(done.outcome.error().why);
    done.reply(std::move(done.outcome));
    return;
  }
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
    if (call.has_outcome) return;
    rows.asked_at = call.asked_at;
    call.outcome = std::move(rows);
    call.has_outcome = true;
    return;
  }
  // Also after rows: then the commit failed.
  call.outcome = std::unexpected(pg_error(link_.get(), result));
  call.has_outcome = true;
}

void PgConnection::take_notifications() {
  struct Free {
    void operator()(PGnotify* notification) const { PQfreemem(notification); }
  };
  while (open_) {
    const std::unique_ptr<PGnotify, Free> one(PQnotifies(link_.get()));
    if (!one) return;
    if (events_.notified) events_.notified(one->extra);
  }
}

void PgConnection::look_at_deadlines(std::chrono::steady_clock::time_point now) {
  if (open_ && !calls_.empty() && calls_.front().deadline <= now) close("no reply in time");
}

void PgConnection::close(const std::string& why) {
  if (!open_) return;
  open_ = false;
  const auto self = shared_from_this();
  descriptor_.release();
  std::deque<Sent> calls = std::exchange(calls_, {});
  for (Sent& call : calls) {
    call.reply(std::unexpected(PgError{.why = why, .sqlstate = {}, .lost = true}));
  }
  if (events_.lost) events_.lost(why);
}

void PgConnection::on_notice(void* self, const PGresult* notice) {
  const char* where = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  if (where && std::strcmp(where, "SyncRepWaitForLSN") == 0) {
    static_cast<PgConnection*>(self)->not_replicated_ = true;
  }
}

}  // namespace semel::postgres
