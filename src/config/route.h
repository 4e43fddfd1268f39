#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "auth/webhook_signature.h"
#include "config/address.h"
#include "config/limits.h"
#include "config/upstream.h"
#include "core/problem.h"
#include "http/tls.h"
#include "semel/driver/fingerprint.h"
#include "semel/driver/operation.h"
#include "semel/driver/outcome_rules.h"
#include "semel/key.h"
#include "semel/time.h"

namespace semel::config {

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

enum class ScopeKind { operation, path, tenant };
enum class ForwardKey { as_is, derived, none };
enum class Mode { enforce, observe };
// The resource that an execution makes, for people to find: see resource.h.
struct ResourceConfig {
  std::string type;
  std::string id;
};
enum class InProgress { conflict, wait, accept };
// Whether Semel writes a success into the record or the executor does, in the transaction of its
// effect.
enum class Completes { gateway, executor };
enum class StoreDown { refuse, pass };

// How the executor is asked about an unknown outcome. The URL's target has placeholders.
struct ProbeConfig {
  Url url;
  Duration timeout = std::chrono::seconds(2);
};

// direct: the provider gets the upstream's answer. queue: 202 as soon as the event is durable.
enum class WebhookMode { direct, queue };
struct WebhookConfig {
  auth::WebhookScheme scheme;
  std::vector<auth::WebhookSecret> secrets;
  Duration tolerance = std::chrono::minutes(5);
  std::vector<std::string> kinds;  // that are told apart even if the body is the same
  WebhookMode mode = WebhookMode::direct;
  // With mode: queue.
  std::size_t max_attempts = 20;
  Duration backoff_min = std::chrono::seconds(5);
  Duration backoff_max = std::chrono::hours(1);
};

// What Retry-After says while a key has no answer. nullopt: the gateway estimates it.
struct RetryAfterConfig {
  std::optional<Duration> in_progress;
  std::optional<Duration> unknown;
};

// Which pages in browsers may read Semel's own answers. No origins: none may.
struct CorsConfig {
  std::vector<std::string> origins;  // as browsers send them; "*" is every one
  std::vector<std::string> expose;   // headers beside those of Semel
  bool credentials = false;
};

struct RouteConfig {
  std::string name;                  // the operation
  std::vector<std::string> aliases;  // its earlier names
  std::string path;                  // exact; {id} is one segment; a trailing /* is a prefix
  std::vector<std::string> methods = {"POST", "PATCH"};
  Mode mode = Mode::enforce;
  std::vector<Upstream> upstreams;
  http::TlsClientFiles upstream_tls;  // for those that are https://
  BalanceConfig balance;
  std::optional<HealthConfig> health;    // nullopt: not checked
  std::optional<CircuitConfig> circuit;  // nullopt: never opens
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
  Operation operation;  // unknown, on_retry, lease, max_execution, ttl, tombstone, hold_for, …
  ProbeConfig probe;    // with operation.unknown: probe
  std::size_t max_request_body = 8 * 1024 * 1024;
  std::size_t max_stored_body = 1024 * 1024;
  std::size_t max_spilled_body = 64 * 1024 * 1024;  // up to max_stored_body: nothing is spilled
  std::vector<std::string> replay_headers_deny;     // lower case
  std::vector<std::string> replay_headers_allow;    // lower case; wins over every deny list
  std::string replayed_header = "Idempotency-Replayed";
  ResourceConfig resource;
  std::vector<std::string> describe;  // JSON Pointers to the members that the record keeps
  std::optional<Url> reauthorize;
  StoreDown store_down = StoreDown::refuse;
  RouteLimits limits;
  std::optional<WebhookConfig> webhook;  // the only source of the key and the tenant of its events
  int status_mismatch = 422;
  int status_in_progress = 409;
  RetryAfterConfig retry_after;
  CorsConfig cors;
  core::ErrorShape errors = core::ErrorShape::problem;
  std::string docs_url;  // "": /.semel/policy
  int line = 0;          // its line in the file
};

// The largest request body that is kept for later execution: with `mode: queue`, or on
// Prefer: respond-async.
inline constexpr std::size_t kQueuedBodyBytesMax = 1024 * 1024;

}  // namespace semel::config
