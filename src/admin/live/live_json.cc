#include "admin/live/live_json.h"

#include <cmath>

#include "admin/admin_answer.h"
#include "base/utf8.h"
#include "gateway/keyed/decision.h"

namespace semel::admin {
namespace json = boost::json;
namespace {

constexpr double kThousand = 1000;

// Three decimals: more would be noise.
double rounded(double value) {
  return std::round(value * kThousand) / kThousand;
}

json::value quantiles_json(const std::optional<telemetry::Quantiles>& quantiles) {
  if (!quantiles) return nullptr;
  return json::object{{"p50", rounded(quantiles->p50_ms)}, {"p99", rounded(quantiles->p99_ms)}};
}

}  // namespace

json::object point_json(const telemetry::HistoryPoint& point) {
  json::object results;
  std::uint64_t requests = 0;
  for (std::size_t i = 0; i < telemetry::kRequestResults; ++i) {
    results[telemetry::to_string(static_cast<telemetry::RequestResult>(i))] = point.results[i];
    requests += point.results[i];
  }
  return {{"at", time_json(point.at)},
          {"results", std::move(results)},
          {"requests", requests},
          {"store_ms", quantiles_json(point.store)},
          {"upstream_ms", quantiles_json(point.upstream)},
          {"in_progress", point.in_progress},
          {"oldest_in_progress_seconds", rounded(point.oldest_in_progress_seconds)},
          {"unknown_records", point.unknown_records}};
}

json::object decision_json(const telemetry::RecentDecision& decision,
                           const runtime::ActiveConfig& settings) {
  const auto& hash_keys = settings.key_material.hash_keys;
  const core::HashKey* with = hash_keys.empty() ? nullptr : &hash_keys.front();
  const bool has_record = decision.record.has_value();
  json::object out;
  out["seq"] = decision.seq;
  out["at"] = time_json(decision.at);
  out["route"] = base::printable_utf8(decision.route);
  out["result"] = telemetry::to_string(decision.result);
  out["status"] = decision.status == 0 ? json::value(nullptr) : json::value(decision.status);
  out["method"] = base::printable_utf8(decision.method);
  out["key"] =
      text_or_null(gateway::logged_key(decision.key, has_record, settings.config.log.keys, with));
  out["tenant"] = text_or_null(gateway::logged_tenant(decision.tenant, with));
  out["record"] = has_record ? json::value(decision.record->hex()) : json::value(nullptr);
  out["attempt"] = decision.attempt;
  out["duration_ms"] = rounded(static_cast<double>(decision.took.count()) / kThousand);
  out["peer"] = base::printable_utf8(decision.peer);
  out["trace"] = text_or_null(decision.trace);
  return out;
}

}  // namespace semel::admin
