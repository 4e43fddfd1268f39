#include "client/wire/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace semel::client {
namespace {

// OpenSSL's own socket BIO writes with write(), and a closed connection would raise SIGPIPE in a
// program that is not ours.
int send_quietly(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))),
                           data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int receive(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))),
                          data, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "semel socket");
    BIO_meth_set_write(made, send_quietly);
    BIO_meth_set_read(made, receive);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return method;
}

[[noreturn]] void refuse_file(const std::string& file, const char* what) {
  throw Client::Error(file + ": cannot be used as " + what + " (" + take_tls_error() + ")");
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

std::string take_tls_error() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason ? reason : "TLS failed";
}

TlsContext make_tls_context(const ClientTls& options) {
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) throw Client::Error("TLS cannot be set up: " + take_tls_error());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str()) != 1) {
    refuse_file(options.ca_file, "certificates to trust");
  }
  if (options.certificate_file.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.certificate_file.c_str()) != 1) {
    refuse_file(options.certificate_file, "a certificate");
  }
  const std::string& key = options.key_file.empty() ? options.certificate_file : options.key_file;
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) {
    refuse_file(key, "the certificate's key");
  }
  return context;
}

TlsSession make_tls_session(SSL_CTX& context, int socket, const std::string& host) {
  ERR_clear_error();
  TlsSession session(SSL_new(&context));
  BIO* bio = session ? BIO_new(socket_method()) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session.get(), bio, bio);
  static constexpr unsigned char kHttp1[] = "\x08http/1.1";
  SSL_set_alpn_protos(session.get(), kHttp1, sizeof kHttp1 - 1);
  const bool address = is_address(host);
  const int named = address
                        ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), host.c_str())
                        : SSL_set1_host(session.get(), host.c_str());
  if (named != 1) return nullptr;
  if (!address && SSL_set_tlsext_host_name(session.get(), host.c_str()) != 1) return nullptr;
  SSL_set_connect_state(session.get());
  return session;
}

}  // namespace semel::client
