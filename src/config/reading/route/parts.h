#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/reading/reader.h"
#include "config/route.h"

// The mappings inside a route. Each sets only the fields that it names, so that mappings can be
// read in layers.
namespace semel::config::reading {

// The statuses in the layers of a route, before they are made into rules: a layer changes the
// entries that it lists, and a preset discards the layers below.
struct OutcomePlan {
  bool is_cautious = false;
  std::map<std::string, OutcomeKind> kind_by_entry;
};

OutcomeRules make_rules(const OutcomePlan& plan);

void read_key(const Field& field, KeyConfig& out);
void read_fingerprint(const Field& field, FingerprintConfig& out);
void read_outcomes(const Field& field, OutcomePlan& out);
void read_replay_headers(const Field& field, RouteConfig& out);
void read_replayed_header(const Field& field, std::string& out);
void read_resource(const Field& field, ResourceConfig& out);
void read_describe(const Field& field, std::vector<std::string>& out);
void read_probe(const Field& field, ProbeConfig& out);
void read_statuses(const Field& field, RouteConfig& out);
void read_retry_after(const Field& field, RetryAfterConfig& out);
void read_limits(const Field& field, RouteLimits& out);

}  // namespace semel::config::reading
