#include "semel/driver/scope.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

namespace semel::core {
namespace {

std::string hex(const RecordId& id) {
  return fmt::format("{:02x}", fmt::join(id.bytes, ""));
}

TEST(MakeId, IsTheSameForEver) {
  // Computed elsewhere. If it changes, every record in every store is lost to its client.
  EXPECT_EQ(hex(make_id({"default", "acme", "charges"}, "8e03978e-40d5-43dd-bc93-6894a57f9324")),
            "6aa549c46b02a9617b53f77e4fe66970d46ece124b4ee221546d9a4f3bca182a");
}

TEST(MakeId, EveryFieldIsPartOfTheScope) {
  const std::set<RecordId> ids = {
      make_id({"ns", "tenant", "op"}, "key"),   make_id({"other", "tenant", "op"}, "key"),
      make_id({"ns", "other", "op"}, "key"),    make_id({"ns", "tenant", "other"}, "key"),
      make_id({"ns", "tenant", "op"}, "other"),
  };
  EXPECT_EQ(ids.size(), 5u);
}

// One tenant must not be able to spell another tenant's record by choosing where a field ends.
TEST(MakeId, FieldsCannotBeShiftedIntoEachOther) {
  const std::set<RecordId> ids = {
      make_id({"a", "b", "c"}, "d"), make_id({"ab", "", "c"}, "d"), make_id({"", "ab", "c"}, "d"),
      make_id({"a", "bc", ""}, "d"), make_id({"a", "b", "cd"}, ""), make_id({"a", "b", ""}, "cd"),
      make_id({"abcd", "", ""}, ""), make_id({"", "", ""}, "abcd"),
  };
  EXPECT_EQ(ids.size(), 8u);
}

}  // namespace
}  // namespace semel::core
