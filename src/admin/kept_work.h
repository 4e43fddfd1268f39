#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "admin/key_search.h"
#include "semel/driver/record.h"

// Work whose request is kept in its record: answered with 202, and executed by Semel on its own.
namespace semel::admin {

enum class WorkState {
  queued,   // waits for its turn, or for its next try
  running,  // is executed now
  dead,     // nobody tries it any more: a dead letter, or its outcome is unknown
};
// nullopt: the record keeps no work.
std::optional<WorkState> work_state_of(const Record& record);

// Sets a field of a search for work: operation, or state. Returns what is wrong, or nullopt.
std::optional<std::string> set_work_filter(std::string_view name, std::string_view value,
                                           Search& out);
void list_only(WorkState state, Search& out);

// Drops the headers and the body of an encoded request: what a list of work need not hold.
void trim_work(std::string& request);

// Shows the work without its headers and its body.
boost::json::object work_json(const Record& record);

}  // namespace semel::admin
