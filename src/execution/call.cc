#include "execution/call.h"

#include <stdexcept>

#include "core/fingerprint/keyed_hash.h"

namespace semel::execution {
namespace {

BodyRecipe body_recipe_of(config::BodyFingerprint body, std::string_view content_type,
                          bool has_digest) {
  switch (body) {
    case config::BodyFingerprint::automatic:
      return pick_body_recipe(content_type);
    case config::BodyFingerprint::json:
      return BodyRecipe::json;
    case config::BodyFingerprint::form:
      return BodyRecipe::form;
    case config::BodyFingerprint::raw:
      return BodyRecipe::raw;
    case config::BodyFingerprint::none:
      return BodyRecipe::none;
    case config::BodyFingerprint::multipart:
      return BodyRecipe::multipart;
    case config::BodyFingerprint::digest:
      return has_digest ? BodyRecipe::digest : BodyRecipe::raw;
  }
  return BodyRecipe::raw;
}

}  // namespace

Recipe recipe_of(const config::FingerprintConfig& config, const core::HashKeys& hash_keys,
                 std::string_view content_type, bool has_digest) {
  Recipe recipe;
  recipe.body = body_recipe_of(config.body, content_type, has_digest);
  recipe.query = config.query;
  recipe.include = config.include;
  recipe.exclude = config.exclude;
  recipe.headers = config.headers;
  if (!hash_keys.empty()) recipe.hash_key_id = hash_keys.front().id;
  return recipe;
}

Fingerprint fingerprint_under_key(Fingerprint plain, const Recipe& recipe,
                                  const core::HashKeys& hash_keys) {
  if (recipe.hash_key_id.empty()) return plain;
  if (const core::HashKey* key = core::find_hash_key(hash_keys, recipe.hash_key_id)) {
    return core::keyed_fingerprint(plain, *key);
  }
  throw std::runtime_error("a record was made with a hash key that is missing: " +
                           recipe.hash_key_id);
}

Call make_call(const runtime::ActiveConfig& settings, const config::RouteConfig& route, Scope scope,
               std::string key) {
  const core::HashKeys& hash_keys = settings.key_material.hash_keys;
  Call call;
  call.scope = std::move(scope);
  if (settings.config.store_keys == config::StoreKeys::digest) {
    call.shown_key = core::key_digest(key, hash_keys.empty() ? nullptr : &hash_keys.front());
  }
  call.key = std::move(key);
  call.operation = route.operation;
  return call;
}

}  // namespace semel::execution
