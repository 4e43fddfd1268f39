#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <string>

#include "server/server.h"

namespace semel::server {

// Reads further files, on the thread for files; `config` is the configuration in force by then.
// Returns what to do with them, to be called on the server's context().
using ReadBeside = std::function<std::function<void()>(const config::Config& config)>;

// Reads the configuration file, and the files that it names, again whenever SIGHUP comes. A file
// that cannot be used changes nothing. Files are read on Server::files(), so that a server which
// ends meanwhile waits for them, and drops what was read.
boost::asio::awaitable<void> reload_on(boost::asio::signal_set& hangups, Server& server,
                                       std::string file, ReadBeside read_beside);

}  // namespace semel::server
