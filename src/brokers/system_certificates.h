#pragma once

namespace semel::brokers {

// The file where Debian keeps the authorities that are trusted if the configuration names none: the
// brokers' libraries want a file.
inline constexpr const char* kSystemCertificates = "/etc/ssl/certs/ca-certificates.crt";

}  // namespace semel::brokers
