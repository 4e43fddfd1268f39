#include "cli/config/named_files.h"

#include "admin/access/tokens.h"
#include "http/tls.h"
#include "runtime/key_material.h"
#include "stores/sealed_store.h"

namespace semel::cli {
namespace {

void check_tls(const http::TlsClientFiles& files, const std::string& of,
               std::vector<std::string>& problems) {
  if (files == http::TlsClientFiles{}) return;
  const auto loaded = http::TlsClient::load(files);
  if (!loaded) problems.push_back(of + ": " + loaded.error());
}

void check_ca(const std::string& file, const std::string& of, std::vector<std::string>& problems) {
  http::TlsClientFiles files;
  files.ca = file;
  check_tls(files, of, problems);
}

}  // namespace

std::vector<std::string> find_unusable_files(const config::Config& config) {
  std::vector<std::string> problems = runtime::KeyMaterial::find_problems(config);
  if (!config.store.keys_file.empty()) {
    const auto keys = stores::read_sealing_keys(config.store.keys_file);
    if (!keys) problems.push_back(keys.error());
  }
  if (!config.admin.tokens_file.empty()) {
    const auto tokens = admin::AdminTokens::load(config.admin.tokens_file);
    if (!tokens) problems.push_back(tokens.error());
  }
  check_ca(config.store.redis.ca, "store", problems);
  for (const config::ConsumeConfig& entry : config.consume) {
    check_ca(entry.from.ca_file, "consume " + entry.route.name, problems);
  }
  if (config.relay) {
    for (const config::RelayDestination& destination : config.relay->destinations) {
      check_tls(destination.tls, "relay destination " + destination.name, problems);
      if (!destination.broker) continue;
      check_ca(destination.broker->ca_file, "relay destination " + destination.name, problems);
    }
  }
  return problems;
}

}  // namespace semel::cli
