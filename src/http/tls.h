#pragma once

#include <openssl/types.h>

#include <expected>
#include <memory>
#include <optional>
#include <string>

// TLS as a server and as a client: trust and identity. TLS 1.2 and above.
namespace semel::http {

struct SslContextFree {
  void operator()(SSL_CTX* context) const;
};
struct SslFree {
  void operator()(SSL* ssl) const;
};
using SslPtr = std::unique_ptr<SSL, SslFree>;

enum class ClientCertificate { optional, required };

// Names of PEM files; empty: none.
struct TlsServerFiles {
  std::string cert;  // the chain, with our own certificate first
  std::string key;
  std::string client_ca;  // set: clients are asked for a certificate, which is verified against it
  ClientCertificate client_cert = ClientCertificate::optional;
  bool operator==(const TlsServerFiles&) const = default;
};

struct TlsClientFiles {
  std::string ca;  // "": the system's
  std::string cert;
  std::string key;
  bool verify = true;
  std::string server_name;  // "": the host of the URL
  auto operator<=>(const TlsClientFiles&) const = default;
};

// The server's side of TLS for new connections. Immutable, and usable from any thread: to change
// it, make another one and use that from then on.
class TlsServer {
 public:
  // Reads the files. The error is a sentence for the operator.
  static std::expected<std::shared_ptr<const TlsServer>, std::string> load(
      const TlsServerFiles& files);
  SslPtr new_session() const;

 private:
  std::unique_ptr<SSL_CTX, SslContextFree> context_;
};

// The client's side of TLS, immutable in the same way.
class TlsClient {
 public:
  static std::expected<std::shared_ptr<const TlsClient>, std::string> load(
      const TlsClientFiles& files);
  // Creates a session for a connection to `host`, which is sent as SNI if it is a name, and looked
  // for in the certificate.
  SslPtr new_session(const std::string& host) const;

 private:
  std::unique_ptr<SSL_CTX, SslContextFree> context_;
  bool verify_ = true;
  std::string server_name_;
};

// Says why the last call on `ssl` failed, as a phrase for the log.
std::string tls_failure(const SSL& ssl);

enum class PeerName {
  san,      // the first URI among the subject's alternative names, or else DNS name, or else e-mail
  subject,  // the distinguished name in the notation of RFC 2253
};
// Returns the name in the peer's verified certificate, prefixed with its kind: "uri:spiffe://a/b",
// "dns:a.example", "email:a@b", "subject:CN=a,O=b". nullopt: the peer showed no certificate, or one
// without such a name.
std::optional<std::string> peer_name(const SSL& ssl, PeerName wanted);

}  // namespace semel::http
