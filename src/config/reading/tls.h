#pragma once

#include <optional>

#include "config/config.h"
#include "config/reading/reader.h"

// The keys of TLS: as a server, and towards upstreams. Files are named here and read later.
namespace semel::config::reading {

void read_tls(const Field& field, std::optional<http::TlsServerFiles>& out);

// Sets only the fields that the mapping names, so that it can be read in layers.
void read_upstream_tls(const Field& field, http::TlsClientFiles& out);
// Checks what only the whole route can tell.
void check_upstream_tls(const Field& route, const RouteConfig& config);

}  // namespace semel::config::reading
