#pragma once

#include <string>

// Tells the service manager that started this process (systemd, Type=notify) how it is doing:
// sd_notify(3). Nothing happens without one, that is, where NOTIFY_SOCKET is not set. A message
// that cannot be sent is logged and lost: what the process does never depends on who watches it.
//
//   tell_status("Opening the store");   // while it starts
//   tell_ready("Serving");              // it serves from now on
namespace semel::server {

void tell_status(const std::string& status);
// At the start, and again after each tell_reloading().
void tell_ready(const std::string& status);
void tell_reloading();
void tell_stopping(const std::string& status);

}  // namespace semel::server
