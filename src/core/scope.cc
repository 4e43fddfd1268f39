#include "semel/driver/scope.h"

#include "base/sha256.h"

namespace semel {

// Each field is preceded by its length. If they were merely joined, one tenant could choose an
// operation and key that spell another tenant's record.
RecordId make_id(const Scope& scope, std::string_view key) {
  base::Sha256 hash;
  hash.update_sized(scope.name_space)
      .update_sized(scope.tenant)
      .update_sized(scope.operation)
      .update_sized(key);
  return {hash.finish()};
}

}  // namespace semel
