#include "execution/ask.h"

#include <stdexcept>

#include "core/fingerprint/keyed_hash.h"

namespace semel {
namespace {

BodyRecipe body_recipe_of(BodyFingerprint body, std::string_view content_type, bool has_digest) {
  switch (body) {
    case BodyFingerprint::automatic:
      return pick_body_recipe(content_type);
    case BodyFingerprint::json:
      return BodyRecipe::json;
    case BodyFingerprint::form:
      return BodyRecipe::form;
    case BodyFingerprint::raw:
      return BodyRecipe::raw;
    case BodyFingerprint::none:
      return BodyRecipe::none;
    case BodyFingerprint::multipart:
      return BodyRecipe::multipart;
    case BodyFingerprint::digest:
      return has_digest ? BodyRecipe::digest : BodyRecipe::raw;
  }
  return BodyRecipe::raw;
}

}  // namespace

Recipe recipe_of(const FingerprintConfig& config, const HashKeys& hash_keys,
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
                                  const HashKeys& hash_keys) {
  if (recipe.hash_key_id.empty()) return plain;
  if (const HashKey* key = find_hash_key(hash_keys, recipe.hash_key_id)) {
    return keyed_fingerprint(plain, *key);
  }
  throw std::runtime_error("a record was made with a hash key that is missing: " +
                           recipe.hash_key_id);
}

Ask make_ask(const ActiveConfig& settings, const RouteConfig& route, Scope scope, std::string key) {
  const HashKeys& hash_keys = settings.key_material.hash_keys;
  Ask ask;
  ask.scope = std::move(scope);
  if (settings.config.store_keys == StoreKeys::digest) {
    ask.shown_key = key_digest(key, hash_keys.empty() ? nullptr : &hash_keys.front());
  }
  ask.key = std::move(key);
  ask.policy = route.policy;
  return ask;
}

}  // namespace semel
