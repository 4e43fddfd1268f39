#include "semel/completer.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/array_text.h"
#include "pg/running.h"
#include "pg/statement.h"

namespace semel::pg {
namespace {

namespace json = boost::json;

Resumed resume(PGconn* connection, const PhasedOperation& operation, Abandoned abandoned,
               const std::string& schema) {
  Resumed resumed{abandoned.claim.record, abandoned.name, abandoned.tenant, abandoned.key, {}, {}};
  detail::Running running{connection,
                          operation,
                          abandoned.claim,
                          schema,
                          std::move(abandoned.arguments),
                          std::move(abandoned.recovery_point),
                          std::move(abandoned.state)};
  try {
    resumed.answer = running.run();
  } catch (const std::exception& error) {
    if (PQstatus(connection) != CONNECTION_OK) throw;
    resumed.error = error.what();
  }
  return resumed;
}

}  // namespace

std::optional<Abandoned> take_abandoned(PGconn* connection, const std::vector<std::string>& names,
                                        const CompleterOptions& options) {
  const Rows rows =
      query(connection,
            "SELECT record, token, attempt, name, tenant, key, arguments, recovery_point, state "
            "FROM " +
                function_in(connection, options.schema, "take_abandoned") +
                "(names => $1, lease => $2, max_attempts => $3)",
            {base::array_text(names), interval_value(options.lease),
             std::to_string(options.max_attempts)});
  if (rows.size() == 0) return std::nullopt;
  const auto text = [&](int column) { return std::string(rows.at(0, column)); };
  return Abandoned{Claim{id_from(rows.bytes(0, 0)), token_from(rows.bytes(0, 1)),
                         static_cast<std::uint32_t>(std::stoul(text(2)))},
                   text(3),
                   text(4),
                   text(5),
                   rows.bytes(0, 6),
                   text(7),
                   json::parse(text(8)).as_object()};
}

std::vector<Stuck> find_stuck(PGconn* connection, const std::vector<std::string>& names,
                              const CompleterOptions& options) {
  const Rows rows = query(connection,
                          "SELECT record, name, tenant, key, recovery_point, attempts, why FROM " +
                              function_in(connection, options.schema, "stuck_operations") +
                              "(names => $1, max_attempts => $2)",
                          {base::array_text(names), std::to_string(options.max_attempts)});
  std::vector<Stuck> found;
  for (int row = 0; row < rows.size(); ++row) {
    const auto text = [&](int column) { return std::string(rows.at(row, column)); };
    found.push_back({id_from(rows.bytes(row, 0)), text(1), text(2), text(3), text(4),
                     std::stoi(text(5)), text(6)});
  }
  return found;
}

bool is_unfinished(PGconn* connection, const Claim& claim, const std::string& schema) {
  return query(connection, "SELECT " + function_in(connection, schema, "is_unfinished") + "($1)",
               {id_value(claim.record)})
             .at(0, 0) == "t";
}

void give_back(PGconn* connection, const Claim& claim, std::string_view why,
               const std::string& schema) {
  query(connection,
        "SELECT " + function_in(connection, schema, "suspend_operation") +
            "(record => $1, token => $2, why => $3, nothing_done => false)",
        {id_value(claim.record), token_value(claim.token), std::string(why)});
}

Completed complete_abandoned(PGconn* connection, std::span<const PhasedOperation> operations,
                             const CompleterOptions& options) {
  require_no_transaction(connection);
  std::vector<std::string> names;
  for (const PhasedOperation& operation : operations) {
    operation.require_finish();
    names.push_back(operation.name());
  }
  Completed done;
  for (int i = 0; i < options.at_most; ++i) {
    auto abandoned = take_abandoned(connection, names, options);
    if (!abandoned) break;
    const auto operation = std::ranges::find(operations, abandoned->name, &PhasedOperation::name);
    done.resumed.push_back(resume(connection, *operation, *std::move(abandoned), options.schema));
  }
  done.stuck = find_stuck(connection, names, options);
  return done;
}

}  // namespace semel::pg
