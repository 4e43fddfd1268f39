#include <gtest/gtest.h>

#include <string_view>

#include "stores/crash_child.h"

int main(int argc, char** argv) {
  if (argc == 4 && argv[1] == std::string_view(semel::stores::kWriteUntilKilled)) {
    semel::stores::write_until_killed(argv[2], argv[3] == std::string_view("sync"));
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
