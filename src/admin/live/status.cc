#include "admin/live/status.h"

#include <boost/json/array.hpp>

#include "admin/admin_answer.h"
#include "base/names.h"
#include "base/utf8.h"
#include "engine/process_identity.h"
#include "runtime/upstreams/report.h"

namespace semel::admin {
namespace json = boost::json;
namespace {

constexpr auto kStoreKinds = base::names<stores::StoreKind::tiered>({
    {stores::StoreKind::embedded, "embedded"},
    {stores::StoreKind::memory, "memory"},
    {stores::StoreKind::postgres, "postgres"},
    {stores::StoreKind::redis, "redis"},
    {stores::StoreKind::tiered, "tiered"},
});

json::object store_json(server::Process& process) {
  const Store& store = process.services().store;
  json::array notes;
  if (!store.features().durable) {
    notes.push_back("The memory store forgets every key when this process ends.");
  }
  for (const std::string& note : notes_about(process)) {
    notes.push_back(json::value(base::printable_utf8(note)));
  }
  json::array doubts;
  const StoreDoubts found = store.doubts();
  if (found.clock) doubts.push_back("clock");
  if (found.claims) doubts.push_back("claims");
  return {{"kind", kStoreKinds[process.config().store.kind]},
          {"trouble", text_or_null(store.trouble().value_or(""))},
          {"notes", std::move(notes)},
          {"doubts", std::move(doubts)}};
}

// The clients' listeners as URLs. A port that the system chose is not known here.
json::array listening(const config::Config& config) {
  json::array urls;
  for (const auto& [host, port] : config.listen) {
    if (port == 0) continue;
    const std::string name = host.contains(':') ? "[" + host + "]" : host;
    urls.push_back(
        json::value((config.tls ? "https://" : "http://") + name + ":" + std::to_string(port)));
  }
  return urls;
}

}  // namespace

std::vector<std::string> notes_about(server::Process& process) {
  std::vector<std::string> notes = process.refused_work();
  for (std::string& line : runtime::upstream_troubles(process.settings())) {
    notes.push_back(std::move(line));
  }
  return notes;
}

json::object status_json(server::Process& process, Time started_at,
                         const std::optional<std::string>& who) {
  const Time now = process.machine_clock().now();
  const config::Config& config = process.config();
  const auto up = std::chrono::duration_cast<std::chrono::seconds>(now - started_at);
  json::object out;
  out["version"] = SEMEL_VERSION;
  out["node"] = base::printable_utf8(engine::this_node().node);
  out["run"] = engine::run_text(engine::this_node());
  out["namespace"] = base::printable_utf8(config.name_space);
  out["started_at"] = time_json(started_at);
  out["uptime_seconds"] = std::max<std::int64_t>(0, up.count());
  out["now"] = time_json(now);
  out["store"] = store_json(process);
  out["listening"] = listening(config);
  out["draining"] = process.services().draining.load();
  out["workers"] = process.workers().size();
  out["routes"] = process.settings().routes.size();
  out["keys_shown"] = config.log.keys == config::LogKeys::full ? "full" : "digest";
  out["you"] = {{"name", who ? json::value(*who) : json::value(nullptr)},
                {"may_change", who.has_value()}};
  return out;
}

}  // namespace semel::admin
