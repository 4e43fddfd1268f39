#include "http/tls.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <string_view>

#include "base/private_file.h"

namespace semel::http {
namespace {

// The only protocol we speak, in the wire format of ALPN.
constexpr unsigned char kAlpn[] = "\x08http/1.1";
constexpr unsigned kAlpnBytes = sizeof kAlpn - 1;

std::string openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return reason != nullptr ? reason : "unreadable";
}

using Context = std::unique_ptr<SSL_CTX, SslContextFree>;

Context new_context(const SSL_METHOD* method) {
  Context context(SSL_CTX_new(method));
  if (!context) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // With partial writes, SSL_write() reports exactly what the peer may have got.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  return context;
}

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct KeyFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

// There is nobody who could be asked for a password.
int no_password(char*, int, int, void*) {
  return -1;
}

std::expected<void, std::string> use_certificate(SSL_CTX* context, const std::string& cert,
                                                 const std::string& key) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, cert.c_str()) != 1) {
    return std::unexpected("the certificate " + cert + " cannot be used: " + openssl_error());
  }
  auto text = base::read_private_file(key);
  if (!text) return std::unexpected("the key " + text.error());
  const std::unique_ptr<BIO, BioFree> in(
      BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  const std::unique_ptr<EVP_PKEY, KeyFree> parsed(
      PEM_read_bio_PrivateKey(in.get(), nullptr, no_password, nullptr));
  OPENSSL_cleanse(text->data(), text->size());
  // Also refuses a key that does not belong to the certificate.
  if (!parsed || SSL_CTX_use_PrivateKey(context, parsed.get()) != 1) {
    return std::unexpected("the key " + key + " cannot be used: " + openssl_error());
  }
  return {};
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* offered, unsigned int offered_length, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_length, kAlpn, kAlpnBytes, offered, offered_length) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

bool is_ip_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

struct NamesFree {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

// Returns nullopt if the name is empty or contains bytes that no such name has.
std::optional<std::string> text_of(const ASN1_IA5STRING* value) {
  const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(value));
  const std::string_view text(data, static_cast<std::size_t>(ASN1_STRING_length(value)));
  for (const char c : text) {
    if (c <= ' ' || c > '~') return std::nullopt;
  }
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

std::optional<std::string> alternative_name(const X509& certificate) {
  const std::unique_ptr<GENERAL_NAMES, NamesFree> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  struct Kind {
    int type;
    std::string_view prefix;
  };
  for (const Kind& kind : {Kind{GEN_URI, "uri:"}, {GEN_DNS, "dns:"}, {GEN_EMAIL, "email:"}}) {
    for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
      const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
      if (name->type != kind.type) continue;
      if (auto text = text_of(name->d.ia5)) return std::string(kind.prefix) + *text;
    }
  }
  return std::nullopt;
}

std::optional<std::string> subject_name(const X509& certificate) {
  const std::unique_ptr<BIO, BioFree> out(BIO_new(BIO_s_mem()));
  const X509_NAME* name = X509_get_subject_name(&certificate);
  if (X509_NAME_entry_count(name) == 0 ||
      X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253) < 0) {
    return std::nullopt;
  }
  char* data = nullptr;
  const long length = BIO_get_mem_data(out.get(), &data);
  return "subject:" + std::string(data, static_cast<std::size_t>(length));
}

}  // namespace

void SslContextFree::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

void SslFree::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

std::expected<std::shared_ptr<const TlsServer>, std::string> TlsServer::load(
    const TlsServerFiles& files) {
  auto server = std::make_shared<TlsServer>();
  server->context_ = new_context(TLS_server_method());
  SSL_CTX* context = server->context_.get();
  if (auto used = use_certificate(context, files.cert, files.key); !used) {
    return std::unexpected(std::move(used.error()));
  }
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // the clients keep the tickets
  if (files.client_ca.empty()) return server;

  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca.c_str());
  if (names == nullptr ||
      SSL_CTX_load_verify_locations(context, files.client_ca.c_str(), nullptr) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return std::unexpected("the client CA " + files.client_ca +
                           " cannot be used: " + openssl_error());
  }
  SSL_CTX_set_client_CA_list(context, names);
  const bool required = files.client_cert == ClientCertificate::required;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     nullptr);
  // A resumed session would skip the check of the certificate, which may have expired since.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  return server;
}

SslPtr TlsServer::new_session() const {
  SslPtr ssl(SSL_new(context_.get()));
  if (!ssl) throw std::bad_alloc();
  SSL_set_accept_state(ssl.get());
  return ssl;
}

std::expected<std::shared_ptr<const TlsClient>, std::string> TlsClient::load(
    const TlsClientFiles& files) {
  auto client = std::make_shared<TlsClient>();
  client->context_ = new_context(TLS_client_method());
  client->verify_ = files.verify;
  client->server_name_ = files.server_name;
  SSL_CTX* context = client->context_.get();
  if (!files.cert.empty()) {
    if (auto used = use_certificate(context, files.cert, files.key); !used) {
      return std::unexpected(std::move(used.error()));
    }
  }
  SSL_CTX_set_alpn_protos(context, kAlpn, kAlpnBytes);
  if (!files.verify) return client;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ERR_clear_error();
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, files.ca.c_str(), nullptr) != 1) {
    return std::unexpected("the CA " + files.ca + " cannot be used: " + openssl_error());
  }
  return client;
}

SslPtr TlsClient::new_session(const std::string& host) const {
  SslPtr ssl(SSL_new(context_.get()));
  if (!ssl) throw std::bad_alloc();
  SSL_set_connect_state(ssl.get());
  const std::string& name = server_name_.empty() ? host : server_name_;
  const bool is_ip = is_ip_address(name);
  if (!is_ip) SSL_set_tlsext_host_name(ssl.get(), name.c_str());
  if (!verify_) return ssl;
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str())
                        : X509_VERIFY_PARAM_set1_host(wanted, name.data(), name.size());
  if (set != 1) throw std::bad_alloc();
  return ssl;
}

std::string tls_failure(const SSL& ssl) {
  const long verified = SSL_get_verify_result(&ssl);
  if (verified != X509_V_OK) {
    ERR_clear_error();
    return std::string("the certificate was not accepted: ") +
           X509_verify_cert_error_string(verified);
  }
  if (ERR_peek_last_error() == 0) return "the connection ended";
  return openssl_error();
}

std::optional<std::string> peer_name(const SSL& ssl, PeerName wanted) {
  const X509* certificate = SSL_get0_peer_certificate(&ssl);
  if (certificate == nullptr || SSL_get_verify_result(&ssl) != X509_V_OK) return std::nullopt;
  return wanted == PeerName::san ? alternative_name(*certificate) : subject_name(*certificate);
}

}  // namespace semel::http
