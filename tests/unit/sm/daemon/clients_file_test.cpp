// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whom the next process is to ask, as it is kept and read.
#include "sm/daemon/clients_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sm::daemon {
namespace {

class ClientsFileTest : public ::testing::Test {
 protected:
  ClientsFileTest() { std::filesystem::create_directories(directory_); }
  ~ClientsFileTest() override { std::filesystem::remove_all(directory_); }

  ClientsFile open() const { return ClientsFile(directory_.string()); }
  bool exists() const { return std::filesystem::exists(directory_ / "clients-to-ask"); }

  std::filesystem::path directory_{testing::TempDir() + "ibkit-clients-file-" +
                                   std::to_string(::getpid())};
};

TEST_F(ClientsFileTest, NamesThoseWhoAreNotAskedYet) {
  ClientsFile file = open();
  EXPECT_TRUE(file.due().empty());
  file.add({});
  EXPECT_FALSE(exists());
  file.add({false, {ib::Guid{7}}});
  file.add({true, {ib::Guid{5}}});
  EXPECT_EQ(open().due(), (core::ClientsToAsk{true, {ib::Guid{5}, ib::Guid{7}}}));
  file.set({false, {ib::Guid{5}}});
  EXPECT_EQ(open().due(), (core::ClientsToAsk{false, {ib::Guid{5}}}));
  file.set({});
  EXPECT_FALSE(exists());
}

TEST_F(ClientsFileTest, AsksAllWhereItMakesNoSense) {
  std::ofstream(directory_ / "clients-to-ask") << "0x0000000000000005\nsomebody\n";
  EXPECT_EQ(open().due(), (core::ClientsToAsk{true, {ib::Guid{5}}}));
  std::ofstream(directory_ / "clients-to-ask", std::ios::trunc).flush();
  EXPECT_EQ(open().due(), (core::ClientsToAsk{true, {}}));
}

TEST_F(ClientsFileTest, ADirectoryThatIsNotThereHoldsUpNobody) {
  ClientsFile file((directory_ / "none").string());
  file.add({true, {}});
  EXPECT_TRUE(file.due().all);
}

}  // namespace
}  // namespace sm::daemon
