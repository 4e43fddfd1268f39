#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/jwt.h"
#include "core/problem.h"
#include "core/webhook.h"
#include "net/tls.h"
#include "semel/fingerprint.h"
#include "semel/key.h"
#include "semel/outcome.h"
#include "semel/policy.h"
#include "semel/record.h"
#include "semel/time.h"
#include "stores/open.h"

// The configuration as the program uses it: checked, with every default filled in. The names and
// defaults are SPEC 17; docs/configuration.md explains them.
namespace semel {

// host:port as written in the file. The host may be a name (upstreams only), an IPv4 address or an
// IPv6 address in brackets, kept here without them.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};

struct Upstream {
  bool tls = false;
  HostPort address;
  std::string base_path;  // "" or "/prefix", put before the request's path
};

// A URL that Semel itself asks: http:// or https://, taken apart.
struct Url {
  bool tls = false;
  HostPort address;
  std::string target;  // path and query; at least "/"
  // The value of a Host header: the port only where it is not the scheme's own.
  std::string authority() const;
};

// An address range, "10.0.0.0/8" or "::1".
struct AddressRange {
  std::string text;
};

struct AdminConfig {
  HostPort listen{"127.0.0.1", 9090};
  std::string tokens_file;  // "": one token is generated beside the data
  bool operator==(const AdminConfig&) const = default;
};

enum class TenantSource { none, authorization, header, jwt, introspect, mtls };
struct JwtConfig : JwtRules {
  std::string jwks_file;    // this
  std::string secret_file;  // or this
};
struct IntrospectConfig {
  Url url;
  std::string tenant_header;
  Duration cache_for = std::chrono::seconds(10);
  Duration timeout = std::chrono::seconds(2);
};
struct TenantConfig {
  TenantSource from = TenantSource::none;
  std::string header_name;                      // from: header
  JwtConfig jwt;                                // from: jwt
  IntrospectConfig introspect;                  // from: introspect
  net::PeerName identity = net::PeerName::san;  // from: mtls
};

struct LimitsConfig {
  std::size_t connections = 10'000;
  std::size_t header_bytes = 32 * 1024;
  Duration header_timeout = std::chrono::seconds(10);
  Duration body_timeout = std::chrono::seconds(30);
  std::size_t in_flight = 4096;
  // Over all tenants and routes; 0: no limit.
  std::size_t new_keys_per_second = 0;
  std::size_t live_keys = 0;
  bool any_on_keys() const { return new_keys_per_second > 0 || live_keys > 0; }
};

enum class LogFormat { text, json };
enum class LogLevel { debug, info, warn, error };
enum class LogKeys { digest, full };
struct LogConfig {
  LogFormat format = LogFormat::text;
  LogLevel level = LogLevel::info;
  LogKeys keys = LogKeys::digest;
  bool operator==(const LogConfig&) const = default;
};

enum class KeySource { header, pointer, fingerprint };
struct KeyConfig {
  bool required = false;
  std::string header = "Idempotency-Key";
  std::vector<std::string> aliases;
  KeySource from = KeySource::header;
  std::string pointer;  // from: pointer
  KeyRules rules;
};

enum class BodyFingerprint { automatic, json, form, raw, none, multipart, digest };
struct FingerprintConfig {
  BodyFingerprint body = BodyFingerprint::automatic;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::vector<std::string> headers;  // lower case
  bool query = true;
};

enum class StoreKeys { plain, digest };
enum class ScopeKind { operation, path, tenant };
enum class ForwardKey { as_is, derived, none };
enum class Mode { enforce, observe };
// What an execution makes, for people to find: see resource.h.
struct ResourceConfig {
  std::string type;
  std::string id;
};
enum class InProgress { conflict, wait, accept };
// Who writes a success into the record: Semel, or the executor, in the transaction of its effect.
enum class Completes { gateway, executor };
enum class StoreDown { refuse, pass };

// Per tenant and operation; 0: no limit.
struct RouteLimits {
  std::size_t new_keys_per_second = 0;
  std::size_t burst = 0;  // 0: as many as new_keys_per_second
  std::size_t live_keys = 0;
  std::size_t in_flight = 0;
  bool any() const { return new_keys_per_second > 0 || live_keys > 0 || in_flight > 0; }
};

// How the executor is asked about an unknown outcome. The URL's target has placeholders.
struct ProbeConfig {
  Url url;
  Duration timeout = std::chrono::seconds(2);
};

// direct: the provider gets the upstream's answer. queue: 202 as soon as the event is durable.
enum class WebhookMode { direct, queue };
struct WebhookConfig {
  WebhookScheme scheme;
  std::vector<WebhookSecret> secrets;
  Duration tolerance = std::chrono::minutes(5);
  std::vector<std::string> kinds;  // that are told apart although the body is the same
  WebhookMode mode = WebhookMode::direct;
  // With mode: queue.
  std::size_t max_attempts = 20;
  Duration backoff_min = std::chrono::seconds(5);
  Duration backoff_max = std::chrono::hours(1);
};

struct RouteConfig {
  std::string name;                  // the operation
  std::vector<std::string> aliases;  // names it had before
  std::string path;                  // exact; {id} is one segment; a trailing /* is a prefix
  std::vector<std::string> methods = {"POST", "PATCH"};
  Mode mode = Mode::enforce;
  std::vector<Upstream> upstreams;
  net::TlsClientFiles upstream_tls;  // for those that are https://
  Duration connect_timeout = std::chrono::seconds(2);
  Duration upstream_timeout = std::chrono::seconds(30);
  Duration upstream_idle = std::chrono::seconds(2);
  Duration late_answer = std::chrono::seconds(60);
  KeyConfig key;
  ScopeKind scope = ScopeKind::operation;
  ForwardKey forward_key = ForwardKey::as_is;
  FingerprintConfig fingerprint;
  InProgress in_progress = InProgress::conflict;
  Duration wait_timeout = std::chrono::seconds(5);
  OutcomeRules outcomes = OutcomeRules::standard();
  Completes completes = Completes::gateway;
  Policy policy;      // unknown, on_retry, lease, max_execution, ttl, tombstone, hold_for, …
  ProbeConfig probe;  // with policy.unknown: probe
  std::size_t max_request_body = 8 * 1024 * 1024;
  std::size_t max_stored_body = 1024 * 1024;
  std::size_t max_spilled_body = 64 * 1024 * 1024;  // up to max_stored_body: nothing is spilled
  std::vector<std::string> replay_headers_deny;     // lower case
  std::vector<std::string> replay_headers_allow;    // lower case; wins over every deny list
  std::string replayed_header = "Idempotency-Replayed";
  ResourceConfig resource;
  std::optional<Url> reauthorize;
  StoreDown store_down = StoreDown::refuse;
  RouteLimits limits;
  std::optional<WebhookConfig> webhook;  // its events have no other key and no other tenant
  int status_mismatch = 422;
  int status_in_progress = 409;
  ErrorShape errors = ErrorShape::problem;
  std::string docs_url;  // "": /.semel/policy
  int line = 0;          // where it stands in the file
};

// Where `semel relay` delivers what is in the outbox, and how patiently.
enum class BrokerKind { rabbitmq, nats, kafka };
// How a broker is reached.
struct BrokerAddress {
  BrokerKind kind = BrokerKind::rabbitmq;
  std::string url;                                              // rabbitmq, nats
  std::string ca_file;                                          // rabbitmq, nats: "": the system's
  std::string brokers;                                          // kafka: host:port, …
  std::vector<std::pair<std::string, std::string>> properties;  // kafka: of librdkafka
};

// Where a broker is to put messages. Only what belongs to its kind is set.
struct BrokerTarget : BrokerAddress {
  std::string exchange;     // rabbitmq: "" is the default exchange
  std::string routing_key;  // rabbitmq
  std::string subject;      // nats
  std::string topic;        // kafka
};

// What the messages of a destination are, in CloudEvents' words, where they do not say it
// themselves.
struct CloudEventsConfig {
  std::string source = "urn:semel:outbox";
  std::string type = "semel.outbox.message";
};

struct RelayDestination {
  std::string name;
  std::optional<BrokerTarget> broker;  // nullopt: HTTP, to `url`
  Url url;
  net::TlsClientFiles tls;  // if it is https://
  Duration timeout = std::chrono::seconds(10);
  std::vector<Header> headers;
  std::optional<CloudEventsConfig> cloudevents;  // nullopt: HTTP without them
};
enum class OnDead { skip, block };
struct RelayConfig {
  std::vector<RelayDestination> destinations;
  bool allow_urls = false;  // a destination may be an http(s):// URL that is not named here
  std::size_t max_attempts = 20;
  Duration backoff_min = std::chrono::milliseconds(500);
  Duration backoff_max = std::chrono::minutes(5);
  Duration lease = std::chrono::seconds(30);
  std::size_t parallel = 16;  // deliveries at once, to each destination
  OnDead on_dead = OnDead::skip;
};

// Where messages come from.
struct BrokerConfig : BrokerAddress {
  std::string queue;                             // rabbitmq
  std::string stream;                            // nats
  std::string consumer;                          // nats: its durable name
  Duration ack_wait = std::chrono::seconds(30);  // nats
  std::string topic;                             // kafka
  std::string group;                             // kafka
  std::size_t prefetch = 256;                    // messages held here that are not acknowledged
};

enum class MessageKeySource { property, header, pointer };
// Which part of a message is its id.
struct MessageKeyConfig {
  MessageKeySource from = MessageKeySource::property;
  std::string name;     // of the property or header
  std::string pointer;  // from: pointer
  KeyRules rules;
};

// Where messages go that cannot be processed. Only what belongs to the broker's kind is set.
struct DeadLetterConfig {
  bool reject = false;      // rabbitmq: to the queue's own dead-letter exchange
  std::string exchange;     // rabbitmq: "" is the default exchange
  std::string routing_key;  // rabbitmq
  std::string subject;      // nats
  std::string topic;        // kafka
};

// Messages of one queue to one handler, each id once (`semel consume`), or to a function of a
// program (semel/consume.h).
struct ConsumeConfig {
  BrokerConfig from;
  // The handler, and everything that decides how an attempt is made and recorded: as of a route
  // that nobody can ask.
  RouteConfig route;
  std::string target;  // path and query of the handler
  MessageKeyConfig key;
  DeadLetterConfig dead_letter;
  std::vector<std::string> headers;  // lower case: of the message, passed on to the handler
  std::size_t in_flight = 64;        // executions at once
  std::size_t max_attempts = 20;
  Duration backoff_min = std::chrono::seconds(1);
  Duration backoff_max = std::chrono::minutes(5);

  bool is_for_function() const { return route.upstreams.empty(); }  // it has no `to`
};

// Where large bodies of requests lie while they are handled.
struct SpoolConfig {
  std::string path;  // "": beside the embedded store, else where temporary files go
  std::size_t bytes_max = std::size_t{1} << 30;
  bool operator==(const SpoolConfig&) const = default;
};

struct Config {
  std::string file;
  std::vector<HostPort> listen = {{"127.0.0.1", 8080}};
  std::optional<net::TlsServerFiles> tls;  // nullopt: plain HTTP
  unsigned workers = 0;                    // 0: one a core
  std::string name_space = "default";
  AdminConfig admin;
  StoreConfig store;
  SpoolConfig spool;
  StoreKeys store_keys = StoreKeys::plain;
  std::string hash_key_file;  // "": plain SHA-256
  std::vector<AddressRange> trusted_proxies;
  TenantConfig tenant;
  LimitsConfig limits;
  Duration drain_timeout = std::chrono::seconds(30);
  LogConfig log;
  std::vector<RouteConfig> routes;  // may be empty where there is a relay, or `consume`
  std::vector<ConsumeConfig> consume;
  std::optional<RelayConfig> relay;  // for `semel relay` only
};

// One thing wrong with the file: where, which key, what to do about it.
struct ConfigError {
  std::string file;
  int line = 0;     // from 1; 0: no particular line
  std::string key;  // "routes[0].key.min_length"
  std::string message;
};
// "semel.yaml:12: routes[0].unknwon: unknown key; did you mean 'unknown'?"
std::string to_string(const ConfigError& error);

using Environment = std::map<std::string, std::string>;

// Every error found, not only the first. Warnings do not keep the configuration from being used.
struct ConfigOutcome {
  std::optional<Config> config;  // nullopt exactly if there are errors
  std::vector<ConfigError> errors;
  std::vector<ConfigError> warnings;
};
ConfigOutcome parse_config(std::string_view yaml, const std::string& file,
                           const Environment& environment);

}  // namespace semel
