#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/address.h"
#include "config/consume.h"
#include "config/limits.h"
#include "config/log.h"
#include "config/relay.h"
#include "config/route.h"
#include "config/service.h"
#include "config/telemetry.h"
#include "config/tenant.h"
#include "http/tls.h"
#include "semel/time.h"
#include "stores/open.h"

// The configuration as the program uses it: checked, with every default filled in.
// docs/configuration.md explains every key.
namespace semel::config {

struct AdminConfig {
  HostPort listen{"127.0.0.1", 9090};
  std::string tokens_file;  // "": one token is generated beside the data
  bool operator==(const AdminConfig&) const = default;
};

enum class StoreKeys { plain, digest };

// The newest format of records: the first that describes their requests.
inline constexpr int kRecordFormat = 3;

struct Config {
  std::string file;
  std::vector<HostPort> listen = {{"127.0.0.1", 8080}};
  std::optional<http::TlsServerFiles> tls;  // nullopt: plain HTTP
  unsigned workers = 0;                     // 0: one per core
  std::string name_space = "default";
  AdminConfig admin;
  stores::StoreConfig store;
  SpoolConfig spool;
  StoreKeys store_keys = StoreKeys::plain;
  int record_format = kRecordFormat;  // 2: no record needs more than a node of format 2 can read
  std::string hash_key_file;          // "": plain SHA-256
  std::vector<AddressRange> trusted_proxies;
  TenantConfig tenant;
  LimitsConfig limits;
  Duration drain_timeout = std::chrono::seconds(30);
  LogConfig log;
  std::optional<TracingConfig> tracing;  // nullopt: no spans are exported
  std::optional<NotifyConfig> notify;    // nullopt: nobody is told
  std::optional<ServiceConfig> service;  // nullopt: there is no service API
  std::vector<RouteConfig> routes;       // may be empty if there is one of the others
  std::vector<ConsumeConfig> consume;
  std::optional<RelayConfig> relay;  // for `semel relay` only
};

}  // namespace semel::config
