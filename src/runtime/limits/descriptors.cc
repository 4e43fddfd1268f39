#include "runtime/limits/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

#include "telemetry/log.h"

namespace semel::runtime {
namespace {

// The store's files or connections; admin connections; connections that are being refused;
// listeners, logs, look-ups of names.
constexpr std::size_t kSetAside = 320 + 256 + 64 + 192;
// A request in flight has a connection to its upstream and may have its body in a file.
constexpr std::size_t kPerRequest = 2;
constexpr std::size_t kConnectionsMin = 16;

std::size_t for_clients(const config::LimitsConfig& limits) {
  return limits.connections + kPerRequest * limits.in_flight;
}

}  // namespace

std::size_t descriptors_needed(const config::LimitsConfig& limits) {
  return kSetAside + for_clients(limits);
}

bool fit_limits(config::LimitsConfig& limits, std::size_t files_max) {
  const std::size_t wanted = for_clients(limits);
  if (files_max >= kSetAside + wanted) return true;
  const std::size_t left = files_max - std::min(files_max, kSetAside);
  const double part = static_cast<double>(left) / static_cast<double>(wanted);
  const auto cut = [part](std::size_t limit) {
    return static_cast<std::size_t>(static_cast<double>(limit) * part);
  };
  const std::size_t connections = cut(limits.connections);
  const std::size_t in_flight = cut(limits.in_flight);
  if (connections < std::min(kConnectionsMin, limits.connections) || in_flight == 0) return false;
  limits.connections = connections;
  limits.in_flight = in_flight;
  return true;
}

std::expected<void, std::string> fit_into_descriptors(config::Config& config) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return {};
  if (files.rlim_cur != files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
  }
  const config::LimitsConfig wanted = config.limits;
  const std::size_t service = config.service ? config::kServiceConnectionsMax : 0;
  const std::string needed = std::to_string(descriptors_needed(wanted) + service);
  const std::string allowed = std::to_string(files.rlim_cur);
  const std::size_t files_max = files.rlim_cur;
  if (!fit_limits(config.limits, files_max - std::min(files_max, service))) {
    return std::unexpected("this process may open " + allowed +
                           " files (ulimit -n, LimitNOFILE=), but its limits need " + needed +
                           ": allow more files, or lower limits.connections and limits.in_flight");
  }
  if (config.limits.connections == wanted.connections) return {};
  const std::string connections = std::to_string(config.limits.connections);
  const std::string in_flight = std::to_string(config.limits.in_flight);
  telemetry::log_event(config::LogLevel::warn,
                       "limits lowered to the number of files that this process may open",
                       {{"files", allowed},
                        {"needed", needed},
                        {"connections", connections},
                        {"in_flight", in_flight}});
  return {};
}

}  // namespace semel::runtime
