#pragma once

#include <array>
#include <string_view>

// Files that together give every key of the configuration, each with a value that is not its
// default and that is written as print_yaml() writes it. Every secret contains "hunter2".
namespace semel::config::test {

inline constexpr std::string_view kGatewaySample = R"(
listen: ["0.0.0.0:8443", "[::1]:8444"]
tls: {cert: /etc/cert.pem, key: /etc/key.pem, client_ca: /etc/ca.pem, client_cert: required}
workers: 3
namespace: blue
admin: {listen: "127.0.0.1:9191", tokens_file: /etc/tokens}
service:
  listen: "127.0.0.1:8190"
  max_body: 2MiB
  clients:
  - {name: worker, token_file: /etc/worker, tenants: "*", operations: [ship]}
  - {name: other, token_env: OTHER_TOKEN, tenants: ["", acme], operations: "*"}
  operations:
    ship:
      lease: 20s
      ttl: 2d
      tombstone: 3d
      hold_for: 4d
      unknown: retry
      limits: {new_keys_per_second: 5, burst: 6, live_keys: 7, in_flight: 0}
store: {kind: embedded, path: /data, durability: crash, free_bytes_min: 1GiB, local_cache: 3MiB}
spool: {path: /spool, bytes_max: 2GiB}
cleanup: {window: "22:30-05:00"}
encryption: {keys_file: /etc/keys}
hash_key_file: /etc/hash
store_keys: digest
trusted_proxies: [10.0.0.0/8, "::1"]
tenant: {from: mtls, identity: subject}
limits:
  connections: 11
  header_bytes: 12KiB
  header_timeout: 13s
  body_timeout: 14s
  in_flight: 15
  new_keys_per_second: 16
  live_keys: 17
drain_timeout: 18s
record_format: 2
tracing: {otlp: "http://collector:4318/v1/traces", sample: 0.25}
log: {format: json, level: debug, keys: full, decisions: changes, file: /var/log/semel.log}
routes:
- name: charges
  aliases: [payments, "cost$$"]
  path: /charges/{id}
  methods: [POST, PUT]
  mode: observe
  upstream: ["https://up:8443/base", "https://[::1]:443"]
  upstream_tls: {ca: /etc/a, cert: /etc/b, key: /etc/c, verify: false, server_name: up.example}
  balance: least_connections
  fail_after: 4
  eject_for: 5s
  slow_start: 6s
  health: {path: /healthz, interval: 7s, timeout: 8s, unhealthy_after: 9, healthy_after: 10}
  circuit: {failures: 11, window: 12s, open_for: 13s}
  connect_timeout: 14s
  upstream_timeout: 15s
  upstream_idle: 16s
  late_answer: 17s
  max_execution: 18m
  key:
    required: true
    header: X-Key
    aliases: [X-Old-Key]
    from: pointer
    pointer: /key
    min_length: 8
    max_length: 64
    format: strong
  scope: path
  forward_key: derived
  fingerprint: {body: json, include: [/a], exclude: [/a/b], headers: [x-version], query: false}
  in_progress: wait
  wait_timeout: 19s
  outcomes: {final: ["500"], retry: [4xx], unknown: ["400", "503"]}
  on_retry: forget
  completes: gateway
  unknown: probe
  hold_for: 20d
  probe: {url: "http://up:81/outcomes?key={key}&token={token}&secret=hunter2", timeout: 21s}
  lease: 22s
  ttl: 23d
  ttl_from: creation
  tombstone: 24d
  response_version: "2"
  on_version_change: new
  resource: {type: charge, id: /id}
  describe: [/amount]
  max_request_body: 25MiB
  max_stored_body: 26KiB
  max_spilled_body: 27MiB
  replay_headers: {deny: [x-a], allow: [x-b]}
  replayed_header: X-Replayed
  reauthorize: http://auth/check?api_key=hunter2
  store_down: pass
  statuses: {mismatch: 400, in_progress: 425}
  retry_after: {in_progress: 28s, unknown: 29s}
  cors: {origins: ["https://app.example"], expose: [X-C], credentials: true}
  errors: nested
  docs_url: https://docs.example/keys
  limits: {new_keys_per_second: 30, burst: 31, live_keys: 32, in_flight: 33}
- path: /hooks/custom
  name: custom
  upstream: ["http://up:80"]
  unknown: hold
  webhook:
    provider: custom
    secrets: [hunter2-hunter2-hunter2]
    tolerance: 2m
    mode: queue
    max_attempts: 3
    backoff: {min: 4s, max: 5s}
    signature_header: X-Signature
    algorithm: hmac-sha256
    encoding: base64
    prefix: v1=
    timestamp_header: X-Time
    signed: "{id}.{timestamp}.{body}"
    id_header: X-Id
- path: /hooks/pointer
  name: pointer
  upstream: ["http://up:80"]
  webhook:
    provider: custom
    secrets: [hunter2-hunter2-hunter2]
    signature_header: X-Signature
    id_pointer: /id
- path: /hooks/github
  name: github
  upstream: ["http://up:80"]
  webhook: {provider: github, secrets: [hunter2-hunter2-hunter2], kinds: [push]}
)";

inline constexpr std::string_view kMessagesSample = R"(
store: {kind: postgres, url: "postgresql://semel:hunter2@db:5432/semel?sslpassword=hunter2",
        schema: blue, connections: 5, local_cache: 1MiB, cache_for: 6s}
tenant: {from: none}
relay:
  destinations:
    http:
      kind: http
      url: https://hooks.example/orders?token=hunter2
      tls: {ca: /etc/a, cert: /etc/b, key: /etc/c, verify: false, server_name: hooks}
      timeout: 11s
      headers: {X-Source: blue, Authorization: Bearer hunter2}
      cloudevents: {source: "urn:a", type: a.b}
    rabbitmq: {kind: rabbitmq, url: "amqps://u:hunter2@mq", ca: /etc/d, exchange: e, routing_key: r}
    nats: {kind: nats, url: "nats://hunter2@nats", subject: s}
    kafka:
      kind: kafka
      brokers: "k1:9092,k2:9092"
      topic: t
      properties: {client.id: blue, sasl.password: hunter2, ssl.key.location: /etc/f}
  allow_urls: true
  max_attempts: 12
  backoff: {min: 13ms, max: 14s}
  lease: 15s
  parallel: 16
  on_dead: block
consume:
- name: orders
  from: {kind: rabbitmq, url: "amqp://u:hunter2@mq", ca: /etc/a, queue: q, prefetch: 17}
  to: https://handler/orders?sig=hunter2
  connect_timeout: 18s
  upstream_timeout: 19s
  upstream_idle: 20s
  upstream_tls: {ca: /etc/a, cert: /etc/b, key: /etc/c, verify: false, server_name: h}
  lease: 21s
  max_execution: 22m
  fingerprint: {body: json, include: [/a], exclude: [/a/b], headers: [], query: false}
  outcomes: cautious
  completes: executor
  hold_for: 23d
  probe: {url: "http://handler/outcomes?key={key}", timeout: 24s}
  ttl: 25d
  tombstone: 26d
  resource: {type: order, id: Location}
  describe: [/total]
  forward_key: none
  key: {from: header, name: X-Id, max_length: 27}
  headers: [x-a]
  unknown: retry
  dead_letter: {exchange: e, routing_key: r}
  in_flight: 28
  max_attempts: 29
  backoff: {min: 30ms, max: 31s}
  max_message: 32KiB
- name: rejected
  from: {kind: rabbitmq, url: "amqp://mq", queue: q2}
  unknown: hold
  dead_letter: reject
- name: stream
  from: {kind: nats, url: "tls://u:hunter2@nats", stream: s, consumer: c, ack_wait: 33s}
  unknown: hold
  key: {from: pointer, pointer: /id}
  dead_letter: {subject: dead}
- name: topic
  from:
    kind: kafka
    brokers: "k:9092"
    topic: t
    group: g
    properties: {sasl.oauthbearer.client.secret: hunter2}
  unknown: hold
  key: {from: property, name: offset}
  dead_letter: {topic: dead}
)";

inline constexpr std::string_view kRedisSample = R"(
store:
  kind: redis
  url: rediss://semel:hunter2@cache:6379/2
  ca: /etc/ca
  replicas: 2
  sentinel: {master: main, hosts: ["s1:26379", "s2:26380"], password: hunter2}
tenant: {from: authorization, schemes: [Token]}
routes: [{name: all, path: /*, upstream: ["http://up:80"]}]
)";

inline constexpr std::string_view kTieredSample = R"(
store:
  kind: tiered
  durable: {kind: postgres, url: "postgresql://semel@db/semel", schema: green, connections: 7}
  cache: {kind: redis, url: "redis://:hunter2@cache", cluster: ["c1:6379", "c2:6380"]}
  cache_for: 8s
trusted_proxies: [10.0.0.1]
tenant: {from: header, name: X-Tenant}
routes: [{name: all, path: /*, upstream: ["http://up:80"]}]
)";

inline constexpr std::string_view kJwtSample = R"(
store: {kind: memory, free_bytes_min: 3MiB}
tenant: {from: jwt, claim: /org/id, jwks_file: /etc/jwks, issuer: me, audience: [a, b], leeway: 9s}
routes: [{name: all, path: /*, upstream: ["http://up:80"]}]
)";

inline constexpr std::string_view kJwtSecretSample = R"(
tenant: {from: jwt, claim: org, secret_file: /etc/secret, issuer: me, audience: [a]}
routes: [{name: all, path: /*, upstream: ["http://up:80"]}]
)";

inline constexpr std::string_view kIntrospectSample = R"(
tenant:
  from: introspect
  url: http://auth:81/who?client_secret=hunter2
  tenant_header: X-Who
  cache_for: 11s
  timeout: 12s
routes: [{name: all, path: /*, upstream: ["http://up:80"]}]
)";

// Printed without its secret, it cannot be read again.
inline constexpr std::string_view kNotifySample = R"(
tenant: {from: none}
notify: {url: "http://pager/semel?token=hunter2", secret: whsec_hunter2hunter2hunter2abc}
routes: [{name: all, path: /*, upstream: ["http://up:80"]}]
)";

inline constexpr std::array kReadableSamples = {kGatewaySample,   kMessagesSample, kRedisSample,
                                                kTieredSample,    kJwtSample,      kJwtSecretSample,
                                                kIntrospectSample};
inline constexpr std::array kPrintSamples = {kGatewaySample,    kMessagesSample, kRedisSample,
                                             kTieredSample,     kJwtSample,      kJwtSecretSample,
                                             kIntrospectSample, kNotifySample};

}  // namespace semel::config::test
