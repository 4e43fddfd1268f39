#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "stores/redis/config.h"
#include "stores/redis/layout.h"
#include "stores/redis/resp/resp.h"

// Parses what the members of a Redis Cluster say about which member has which slots. Pure.
namespace semel::stores::redis {

struct SlotRange {
  Slot first = 0;
  Slot last = 0;
  RedisAddress master;
};
// Parses the reply to CLUSTER SLOTS. `asked` is the member that replied, for members that do not
// know their own address. Empty: the reply is something else.
std::vector<SlotRange> slot_ranges(const resp::RespReply& reply, const RedisAddress& asked);

// "MOVED 3999 host:port" and "ASK 3999 host:port".
struct Redirect {
  bool is_permanent = false;
  Slot slot = 0;
  RedisAddress to;
};
// nullopt: the error is none of these.
std::optional<Redirect> redirect_of(std::string_view error, const RedisAddress& asked);

}  // namespace semel::stores::redis
