#pragma once

#include <string>

#include "config/address.h"
#include "config/limits.h"
#include "config/printing/yaml.h"
#include "config/route.h"
#include "http/tls.h"

// Parts that several mappings of the file have.
namespace semel::config::printing {

// "127.0.0.1:8080", "[::1]:8080"
std::string text_of(const HostPort& address);
std::string text_of(const Url& url);
std::string text_of(const Upstream& upstream);
std::string_view text_of(UnknownPolicy policy);
std::string_view text_of(Completes completes);
std::string_view text_of(ForwardKey forward_key);

void print_client_tls(Yaml& out, std::string_view key, const http::TlsClientFiles& tls);
void print_limits(Yaml& out, const RouteLimits& limits);
void print_fingerprint(Yaml& out, const FingerprintConfig& fingerprint);
void print_resource(Yaml& out, const ResourceConfig& resource);
// Writes nothing if there is no URL to ask.
void print_probe(Yaml& out, const ProbeConfig& probe);
void print_backoff(Yaml& out, Duration min, Duration max);

}  // namespace semel::config::printing
