#include "runtime/limits/shares.h"

#include <algorithm>

namespace semel::runtime {
namespace {

constexpr std::size_t kNetworkBytes = 8;  // of an IPv6 address: a /64

std::string peer_name(const boost::asio::ip::address& address) {
  std::string name = "peer:";
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    return name.append(bytes.begin(), bytes.end());
  }
  const auto v6 = address.to_v6();
  if (v6.is_v4_mapped()) {
    const auto bytes = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, v6).to_bytes();
    return name.append(bytes.begin(), bytes.end());
  }
  const auto bytes = v6.to_bytes();
  return name.append(bytes.begin(), bytes.begin() + kNetworkBytes);
}

}  // namespace

ShareHolderPtr ShareHolders::of_peer(const boost::asio::ip::address& address) {
  return find(peer_name(address));
}

ShareHolderPtr ShareHolders::of_tenant(std::string_view tenant) {
  return find(std::string("tenant:").append(tenant));
}

ShareHolderPtr ShareHolders::of_operation(std::string_view operation) {
  return find(std::string("operation:").append(operation));
}

ShareHolderPtr ShareHolders::of_client(std::string_view client) {
  return find(std::string("client:").append(client));
}

ShareHolderPtr ShareHolders::find(std::string who) {
  Shard& shard = shards_[std::hash<std::string>{}(who) % kShards];
  const std::lock_guard lock(shard.mutex);
  std::weak_ptr<ShareHolder>& known = shard.holders[who];
  if (ShareHolderPtr holder = known.lock()) return holder;
  const auto forget = [&shard, who = std::move(who)](ShareHolder* holder) {
    delete holder;
    const std::lock_guard forgetting(shard.mutex);
    const auto found = shard.holders.find(who);
    // A new holder of this name may have come meanwhile.
    if (found != shard.holders.end() && found->second.expired()) shard.holders.erase(found);
  };
  ShareHolderPtr holder(new ShareHolder, forget);
  known = holder;
  return holder;
}

void HeldBytes::belong_to(ShareHolderPtr tenant) {
  tenants_.emplace((*tenant).*kind_, bytes_);
  tenant_ = std::move(tenant);
}

bool HeldBytes::recount(std::size_t bytes, std::size_t limit) {
  if (bytes == bytes_) return true;
  bytes_ = bytes;
  all_.recount(bytes);
  bool fits = all_.before() < limit;
  for (std::optional<Counted>* own : {&peers_, &tenants_}) {
    if (!*own) continue;
    (*own)->recount(bytes);
    fits = fits && has_share((*own)->before(), all_.before(), limit);
  }
  return fits;
}

}  // namespace semel::runtime
