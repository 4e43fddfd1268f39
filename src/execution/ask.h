#pragma once

#include <string>
#include <string_view>

#include "runtime/active_config.h"
#include "semel/engine.h"

// One delivery as the engine is asked about it. Requests, observed requests and messages are all
// made here, so that the rules for keys and fingerprints are the same for each of them.
namespace semel {

// How a request of this kind is compared. With hash keys it is compared under the first of them.
// `has_digest`: the request carries a Content-Digest that the route may go by.
Recipe recipe_of(const FingerprintConfig& config, const HashKeys& hash_keys,
                 std::string_view content_type, bool has_digest);

// `plain` under the recipe's hash key; as it is, if the recipe names none. Throws
// std::runtime_error if the key is missing: nothing can be told about the request then.
Fingerprint fingerprint_under_key(Fingerprint plain, const Recipe& recipe,
                                  const HashKeys& hash_keys);

// Everything but the request's own parts: recipe, fingerprints, trace.
Ask make_ask(const ActiveConfig& settings, const RouteConfig& route, Scope scope, std::string key);

}  // namespace semel
