#pragma once

namespace semel {

// Where Debian keeps the authorities that are trusted when the configuration names none: the
// brokers' libraries want a file.
inline constexpr const char* kSystemCertificates = "/etc/ssl/certs/ca-certificates.crt";

}  // namespace semel
