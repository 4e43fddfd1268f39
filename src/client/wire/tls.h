#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "semel/client.h"

namespace semel::client {

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;
using TlsSession = std::unique_ptr<SSL, FreeTls>;

// Throws Client::Error if a file cannot be used.
TlsContext make_tls_context(const ClientTls& options);

// A session over a connected socket that does not block. It verifies the server's certificate, and
// that it is for this host.
TlsSession make_tls_session(SSL_CTX& context, int socket, const std::string& host);

// Returns what OpenSSL reported last, and forgets it.
std::string take_tls_error();

}  // namespace semel::client
