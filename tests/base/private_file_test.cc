// The one rule for files that have secrets in them.
#include "base/private_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace semel::base {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kRoot = 0;
constexpr uid_t kUs = 1000;
constexpr uid_t kOther = 1001;

std::string judge(mode_t mode, uid_t owner, uid_t user = kUs,
                  PrivateUse use = PrivateUse::believed) {
  struct stat status{};
  status.st_mode = S_IFREG | mode;
  status.st_uid = owner;
  return private_file_error(status, user, use);
}

TEST(PrivateFileTest, OursIsForNobodyElse) {
  EXPECT_EQ(judge(0600, kUs), "");
  EXPECT_EQ(judge(0400, kUs), "");
  for (const mode_t mode : {0640U, 0620U, 0604U, 0602U, 0601U, 0610U, 0644U, 0666U}) {
    EXPECT_THAT(judge(mode, kUs), HasSubstr("chmod 600")) << std::oct << mode;
    EXPECT_THAT(judge(mode, kRoot, kRoot), HasSubstr("chmod 600")) << std::oct << mode;
  }
}

TEST(PrivateFileTest, RootsMayBeReadByItsGroup) {
  EXPECT_EQ(judge(0600, kRoot), "");
  EXPECT_EQ(judge(0640, kRoot), "");
  for (const mode_t mode : {0660U, 0644U, 0604U, 0650U}) {
    EXPECT_THAT(judge(mode, kRoot), HasSubstr("chmod 640")) << std::oct << mode;
  }
}

TEST(PrivateFileTest, AnotherUsersIsRefusedHoweverClosedItIs) {
  EXPECT_THAT(judge(0600, kOther), HasSubstr("chown"));
  EXPECT_THAT(judge(0600, kOther, kRoot), HasSubstr("chown"));
}

TEST(PrivateFileTest, RootSendsAnybodysTokenThatIsClosedToOthers) {
  EXPECT_EQ(judge(0600, kOther, kRoot, PrivateUse::sent), "");
  EXPECT_THAT(judge(0640, kOther, kRoot, PrivateUse::sent), HasSubstr("chmod 600"));
  EXPECT_THAT(judge(0600, kOther, kUs, PrivateUse::sent), HasSubstr("chown"));
}

class PrivateFileOnDiskTest : public testing::Test {
 protected:
  PrivateFileOnDiskTest() {
    std::string pattern = (fs::temp_directory_path() / "semel-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
    folder_ = pattern;
    file_ = folder_ / "secret";
    std::ofstream(file_) << "text";
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  }
  ~PrivateFileOnDiskTest() override { fs::remove_all(folder_); }

  std::string refusal(const fs::path& file, std::size_t bytes_max = kPrivateFileBytesMax) {
    const auto text = read_private_file(file.string(), bytes_max);
    if (text) return "it was read";
    EXPECT_TRUE(text.error().starts_with(file.string() + ": ")) << text.error();
    return text.error();
  }

  fs::path folder_;
  fs::path file_;
};

TEST_F(PrivateFileOnDiskTest, IsReadWhole) {
  EXPECT_EQ(read_private_file(file_.string()), "text");
  EXPECT_EQ(read_private_file(file_.string(), 4), "text");
  EXPECT_THAT(refusal(file_, 3), HasSubstr("larger than 3 bytes"));
}

TEST_F(PrivateFileOnDiskTest, OpenToOthersIsRefused) {
  fs::permissions(file_, fs::perms::group_read, fs::perm_options::add);
  EXPECT_THAT(refusal(file_), HasSubstr("chmod 600"));
}

TEST_F(PrivateFileOnDiskTest, ASymbolicLinkIsRefused) {
  fs::create_symlink(file_, folder_ / "link");
  EXPECT_THAT(refusal(folder_ / "link"), HasSubstr("is a symbolic link; name the file"));
}

TEST_F(PrivateFileOnDiskTest, WhatIsNoFileIsRefusedAndHoldsNothingUp) {
  EXPECT_THAT(refusal(folder_), HasSubstr("is not a file"));
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder_ / "pipe"), HasSubstr("is not a file"));
  EXPECT_THAT(refusal(folder_ / "none"), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace semel::base
