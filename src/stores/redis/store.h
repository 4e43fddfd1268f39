#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "semel/driver/store.h"
#include "stores/redis/config.h"

namespace semel::stores {

// Called on the caller's thread with the time that a swap took.
using RedisAnswered = std::function<void(std::chrono::nanoseconds)>;
// Called on the store's thread for each sweep that found records it cannot read.
using RedisFailed = std::function<void(std::string_view call, const std::string& why)>;

// Opens a store that keeps records in Redis: on one server, the master that Sentinels name, or a
// Cluster. Many processes may use it at the same time. Any thread may call.
//
// The safety of an Applied write depends on the servers (docs/redis.md). With `replicas`, that many
// replicas have acknowledged it, too, and also everything that is read. A write whose reply was
// lost, or that too few replicas acknowledged in time, is swap::Unknown.
//
// A version is a random number: none is used twice for an id, not even after Redis removed the
// record by itself or a failover undid writes.
//
// The store's destructor ends the calls that are under way and posts their results. Stop whatever
// runs the callers' coroutines before it, and destroy their execution contexts after it.
//
// stats() counts unknown records as of a few seconds ago, and what this process did since. doubts()
// compares the servers' clocks with ours, and looks whether they evict, as of a few seconds ago. A
// server that does not tell its time may have any.
//
// `warn` is called on the store's thread with sentences for the operator about what makes a server
// forget. The error is such a sentence: the server cannot be reached, or must not be used.
std::expected<std::unique_ptr<Store>, std::string> open_redis_store(
    RedisConfig config, std::function<void(const std::string&)> warn, RedisAnswered answered = {},
    RedisFailed failed = {});

}  // namespace semel::stores
