#pragma once

#include <CLI/CLI.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "cli/admin/client.h"

// Parts of the commands that speak to the admin listener.
namespace semel::cli {

inline constexpr int kExitRefused = 4;
inline constexpr int kExitNotAllowed = 5;

// Adds --admin, --config and --token-file. If `placed`, FILE may stand without --config: nothing
// else stands there.
void add_admin_options(CLI::App& command, AdminOptions& options, bool placed);

// Explains an answer that is not 200. Returns the exit code.
int explain_reply(const AdminReply& reply);

void print_json(const boost::json::value& value);
// Returns a member as text that does no harm to a terminal; "": it is not there.
std::string text_of(const boost::json::value& object, std::string_view name);
// Returns at most `length` characters, with "..." at the end if some are missing.
std::string cut(std::string text, std::size_t length);
// "5s", "12m", "3h", "9d": the largest unit that is full.
std::string age_text(std::int64_t seconds);

}  // namespace semel::cli
