#pragma once

#include <string>
#include <string_view>

#include "runtime/active_config.h"
#include "semel/driver/engine.h"

// Describes one delivery to the engine. Requests, observed requests and messages are all described
// here, so that the rules for keys and fingerprints are the same for all of them.
namespace semel::execution {

// Returns how a request of this kind is compared: under the first of the hash keys, if there are
// any. `has_digest`: the request carries a Content-Digest that the route may go by.
Recipe recipe_of(const config::FingerprintConfig& config, const core::HashKeys& hash_keys,
                 std::string_view content_type, bool has_digest);

// Returns `plain` under the recipe's hash key, or as it is if the recipe names none. Throws
// std::runtime_error if the key is missing: then nothing can be said about the request.
Fingerprint fingerprint_under_key(Fingerprint plain, const Recipe& recipe,
                                  const core::HashKeys& hash_keys);

// Fills in everything except what depends on the request itself: recipe, fingerprints, trace.
Call make_call(const runtime::ActiveConfig& settings, const config::RouteConfig& route, Scope scope,
               std::string key);

}  // namespace semel::execution
