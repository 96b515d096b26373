// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Names that clients of the console choose, among files that they must not reach.
#include "sm/daemon/console_files.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sm::daemon {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ConsoleFiles : public testing::Test {
 protected:
  ConsoleFiles() {
    std::string name = (fs::temp_directory_path() / "ibsm-files-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ConsoleFiles() override { fs::remove_all(folder_); }

  void put(const std::string& name) const { std::ofstream(folder_ / name) << "ibsm's"; }
  std::string text(const fs::path& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ib::Result<void> write(const std::string& name) const {
    return write_console_file(folder_.string(), name, "0x1\n");
  }

  fs::path folder_;
};

TEST_F(ConsoleFiles, NamesOfIbsmsFilesAreOthersInTheirOwnFolder) {
  for (const char* name : {"ibsm.db", "ibsm.db-wal", "ibsm.lock", "ibsm.mark", "guid2lid",
                           "control", "opensm-sa.dump", "opensm-subnet.lst"}) {
    put(name);
    EXPECT_TRUE(write(name)) << name;
    EXPECT_EQ(text(name), "ibsm's");
    EXPECT_EQ(text(fs::path("console") / name), "0x1\n");
  }
}

TEST_F(ConsoleFiles, NamesThatLeadOutOrAreHiddenAreRefused) {
  for (const std::string name : {"", ".", "..", ".hidden", "../ibsm.db", "/etc/x", "a/b", "x.tmp"})
    EXPECT_FALSE(write(name)) << name;
  EXPECT_FALSE(write(std::string(300, 'a')));
}

TEST_F(ConsoleFiles, ALinkIsReplacedAndWhatItLeadsToIsNot) {
  put("guid2lid");
  EXPECT_TRUE(write("first"));
  fs::create_symlink(folder_ / "guid2lid", folder_ / "console" / "link");
  EXPECT_TRUE(write("link"));
  EXPECT_EQ(text("guid2lid"), "ibsm's");
  EXPECT_EQ(text("console/link"), "0x1\n");
}

TEST_F(ConsoleFiles, AFolderThatIsALinkIsRefused) {
  put("guid2lid");
  fs::create_directory_symlink(folder_, folder_ / "console");
  const auto written = write("guid2lid");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("is expected to be a folder of the user"));
  EXPECT_EQ(text("guid2lid"), "ibsm's");
}

TEST_F(ConsoleFiles, ThereIsABoundAndWhatIsThereMayBeReplaced) {
  for (std::size_t i = 0; i < kConsoleFilesMax; ++i) EXPECT_TRUE(write("n" + std::to_string(i)));
  const auto written = write("more");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("there are 64 files"));
  EXPECT_TRUE(write("n0"));
}

TEST_F(ConsoleFiles, WhoIsTrustedWritesAnywhereButAmongTheState) {
  fs::create_directory(folder_ / "state");
  put("state/ibsm.db");
  fs::create_directory_symlink(folder_ / "state", folder_ / "other");
  const std::string state = (folder_ / "state").string();
  for (const char* name : {"state/ibsm.db", "state/new", "other/ibsm.db", "other/../state/x"})
    EXPECT_FALSE(write_file_anywhere(state, (folder_ / name).string(), "0x1\n")) << name;
  EXPECT_EQ(text("state/ibsm.db"), "ibsm's");
  EXPECT_TRUE(write_file_anywhere(state, (folder_ / "guids").string(), "0x1\n"));
  EXPECT_EQ(text("guids"), "0x1\n");
}

}  // namespace
}  // namespace sm::daemon
