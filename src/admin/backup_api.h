#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>

#include "admin/access/access.h"
#include "server/api_listener.h"
#include "server/process.h"

namespace semel::admin {

inline constexpr std::string_view kBackupPath = "/api/backup";

// POST /api/backup {"to": "/backup/monday"}: backs the store up to a new folder on this machine.
// Answers when the backup is complete: {"to": …, "files": 9, "bytes": 1048576}.
boost::asio::awaitable<Answer> back_up(server::Process& process, const AdminAccess& access,
                                       server::ApiRequest& asked);

}  // namespace semel::admin
