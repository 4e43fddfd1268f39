#include "semel/derive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "semel/driver/scope.h"

namespace semel::core {
namespace {

const RecordId kCharge = make_id({"default", "shop", "charges"}, "order-1001");

// Made with Python's hashlib and base64 from the grammar in docs/formats.md.
TEST(Derive, IsWhatTheGrammarSays) {
  RecordId zero;
  EXPECT_EQ(derive(zero, ""), "AeOt-dyqLbzaZrsgiRliywmWO6Nd_pyKUrdS9sEfNBE");
  EXPECT_EQ(derive(zero, "ledger"), "nIL7kcHK8xDQ0QrdLV2D-BAFkOyvbznc24RrluQC0AA");
  EXPECT_EQ(derive(kCharge, "upstream"), "Zh29DOVQlnjujKTj6wBrgBPvElDFZ5cKLFcEkZY7FQk");
}

TEST(Derive, IsStableAndDiffersByRecordAndLabel) {
  const RecordId other = make_id({"default", "shop", "charges"}, "order-1002");
  std::set<std::string> keys;
  for (const RecordId& id : {kCharge, other}) {
    for (const char* label : {"", "a", "b", "ab", "ledger", "ledger "}) {
      EXPECT_EQ(derive(id, label), derive(id, label));
      keys.insert(derive(id, label));
    }
  }
  EXPECT_EQ(keys.size(), 12u);
}

TEST(Derive, FitsIntoShortAndStrictKeys) {
  for (int i = 0; i < 200; ++i) {
    const std::string key = derive(kCharge, std::to_string(i));
    EXPECT_EQ(key.size(), 43u);
    EXPECT_TRUE(std::ranges::all_of(key, [](unsigned char c) {
      return std::isalnum(c) || c == '-' || c == '_';
    })) << key;
  }
}

}  // namespace
}  // namespace semel::core
