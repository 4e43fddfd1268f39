#include "runtime/introspection_cache.h"

namespace semel::runtime {
namespace {

constexpr std::size_t kEntriesMax = 4096;

}  // namespace

std::optional<std::string> IntrospectionCache::find(const base::Sha256Digest& credential,
                                                    SteadyTime now) {
  const auto found = entries_.find(credential);
  if (found == entries_.end()) return std::nullopt;
  if (now < found->second.until) return found->second.tenant;
  entries_.erase(found);
  return std::nullopt;
}

void IntrospectionCache::put(const base::Sha256Digest& credential, std::string tenant,
                             SteadyTime until, SteadyTime now) {
  if (entries_.size() >= kEntriesMax) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.second.until <= now; });
    if (entries_.size() >= kEntriesMax) entries_.clear();
  }
  entries_.insert_or_assign(credential, Entry{std::move(tenant), until});
}

}  // namespace semel::runtime
