#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/process.h"

namespace semel::admin {

// Returns what an operator should know although nothing is broken: what is not accepted for lack of
// disk, and which upstreams are left out.
std::vector<std::string> notes_about(server::Process& process);

// The answer to /api/status. `who` is the name of whoever asks; nullopt: no known token came.
boost::json::object status_json(server::Process& process, Time started_at,
                                const std::optional<std::string>& who);

}  // namespace semel::admin
