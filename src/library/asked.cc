#include "library/asked.h"

#include "base/sha256.h"
#include "core/fingerprint/keyed_hash.h"
#include "semel/key.h"

namespace semel::library {
namespace {

constexpr std::size_t kNameBytesMax = 255;

// Compares only what the application gives, as for records that a function of SQL claims.
Recipe recipe_of_applications() {
  Recipe recipe;
  recipe.body = BodyRecipe::none;
  recipe.version = 1;
  return recipe;
}

bool is_http(const v1::Call& call) {
  return !call.http.method.empty() || !call.http.path.empty() || !call.http.content_type.empty();
}

// As semel.claim() does: a digest is taken as it is, anything else is hashed.
Fingerprint fingerprint_of_application(std::string_view given) {
  Fingerprint made;
  if (given.size() == made.digest.size()) {
    std::ranges::copy(given, made.digest.begin());
  } else {
    made.digest = base::sha256(given);
  }
  return made;
}

Fingerprint fingerprint_under(const Recipe& recipe, const v1::Call& call) {
  if (recipe == recipe_of_applications()) return fingerprint_of_application(call.fingerprint);
  if (!recipe.hash_key_id.empty()) {
    throw std::runtime_error(
        "the record was made by a gateway with a hash_key_file, which is needed "
        "to compare it");
  }
  RequestView view;
  view.method = call.http.method;
  view.path = call.http.path;
  view.content_type = call.http.content_type;
  view.body = call.fingerprint;
  view.header = [](std::string_view) { return std::nullopt; };
  return make_fingerprint(recipe, view);
}

void check_name(std::string_view what, std::string_view name) {
  if (name.size() > kNameBytesMax) {
    throw v1::Error(std::string(what) + " may have at most 255 bytes");
  }
}

void check_rules(const v1::Operation& operation) {
  if (operation.name.empty()) throw v1::Error("an operation needs a name");
  check_name("the name of an operation", operation.name);
  if (operation.ttl <= Duration{0})
    throw v1::Error("the ttl of an operation must be longer than 0");
  if (operation.lease <= Duration{0} || operation.max_execution <= Duration{0}) {
    throw v1::Error("lease and max_execution of an operation must be longer than 0");
  }
  if (operation.wait < Duration{0} || operation.tombstone < Duration{0}) {
    throw v1::Error("wait and tombstone of an operation may not be negative");
  }
}

}  // namespace

Asked make_asked(const std::string& name_space, bool hides_keys, const v1::Operation& operation,
                 v1::Call call) {
  check_rules(operation);
  check_name("a tenant", call.tenant);
  if (const auto key = check_key(call.key, {}); !key) throw v1::Error(key.error());
  Asked asked;
  asked.scope = {name_space, call.tenant, operation.name};
  asked.id = make_id(asked.scope, call.key);
  asked.key = call.key;
  if (hides_keys) asked.shown_key = core::key_digest(call.key, nullptr);
  asked.trace = call.trace;
  asked.operation.unknown = operation.unknown == v1::Operation::Unknown::retry
                                ? UnknownPolicy::retry
                                : UnknownPolicy::hold;
  asked.operation.lease = operation.lease;
  asked.operation.max_execution = operation.max_execution;
  asked.operation.ttl = operation.ttl;
  asked.operation.tombstone = operation.tombstone;
  asked.operation.response_version = operation.version;
  asked.wait = operation.wait;
  if (is_http(call)) {
    asked.recipe.query = false;
  } else {
    asked.recipe = recipe_of_applications();
  }
  asked.fingerprint = fingerprint_under(asked.recipe, call);
  asked.given = std::make_shared<const v1::Call>(std::move(call));
  return asked;
}

Call Asked::call() const {
  Call call;
  call.scope = scope;
  call.key = key;
  call.shown_key = shown_key;
  call.operation = operation;
  call.recipe = recipe;
  call.fingerprint = fingerprint;
  call.fingerprint_under = [given = given](Recipe under) -> boost::asio::awaitable<Fingerprint> {
    co_return fingerprint_under(under, *given);
  };
  call.trace = trace;
  return call;
}

}  // namespace semel::library
