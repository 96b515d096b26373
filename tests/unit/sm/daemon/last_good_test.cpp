// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which copy of a policy file stands in for one that is broken, where subnet managers share some.
#include "sm/daemon/last_good.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sm/daemon/host_name.h"

namespace sm::daemon {
namespace {

using ::testing::HasSubstr;

/// What others had in force.
class Shared final : public store::PolicyCopies {
 public:
  ib::Result<std::optional<store::PolicyCopy>> read(const std::string& name) override {
    ++asked;
    if (!trouble.empty()) return ib::fail(ib::ErrorKind::TimedOut, trouble);
    if (!copy || copy->name != name) return std::nullopt;
    return copy;
  }
  std::string place(const std::string& name) const override { return "the shelf, " + name; }

  std::optional<store::PolicyCopy> copy;
  std::string trouble;
  unsigned asked{0};
};

class SharedCopy : public ::testing::Test {
 protected:
  SharedCopy() { std::filesystem::create_directories(directory_); }
  ~SharedCopy() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& text) const {
    std::ofstream(path_, std::ios::trunc) << text;
    return path_;
  }
  void keep_here(const std::string& text, const std::string& of) const {
    ASSERT_TRUE(keep_good({&kPartitionFile, of, text}, directory_));
  }
  void shared_by(const std::string& host, const std::string& text) {
    shared_.copy = {"partitions.conf", host, "/var/lib/ibsm", "/etc/p", text};
  }
  /// The text that is in force; what is wrong, where none is. A good one begins with "good".
  std::string start() {
    PolicyFiles files(directory_, &shared_);
    const auto use = [](const std::string& text,
                        const std::string& name) -> ib::Result<std::string> {
      if (text.starts_with("good")) return text;
      return ib::fail(ib::ErrorKind::Usage, name + " is broken");
    };
    const auto read = files.read(kPartitionFile, path_, use);
    const auto troubles = files.take_troubles();
    trouble_ = troubles.empty() ? FileTrouble{} : troubles.front();
    good_files_ = files.take_good().size();
    return read ? *read : read.error().message;
  }

  const std::string directory_ =
      testing::TempDir() + "ibkit-last-good-" + std::to_string(::getpid());
  const std::string path_ = directory_ + "/p";
  Shared shared_;
  FileTrouble trouble_;
  std::size_t good_files_{0};
};

TEST_F(SharedCopy, AFileThatIsInOrderCountsAndNobodyIsAsked) {
  write("good, ours");
  shared_by("head2", "good, theirs");
  EXPECT_EQ(start(), "good, ours");
  EXPECT_EQ(shared_.asked, 0U);
  EXPECT_EQ(good_files_, 1U);
}

TEST_F(SharedCopy, WhatTheMasterHadInForceStandsInForABrokenFileAndNamesWhoseItIs) {
  write("x");
  shared_by("head2", "good, theirs");
  EXPECT_EQ(start(), "good, theirs");
  EXPECT_EQ(trouble_.message, path_ +
                                  " is broken\nwhat the subnet manager on head2 last had in force, "
                                  "its /etc/p, is in force (the shelf, partitions.conf)");
  EXPECT_EQ(trouble_.stand_in,
            "what the subnet manager on head2 last had in force, its /etc/p, is in force");
  EXPECT_EQ(good_files_, 0U) << "no copy is made of a copy";
}

TEST_F(SharedCopy, StandsAboveAnOwnOneThatMayBeOlder) {
  write("x");
  keep_here("good, of last year", path_);
  shared_by("head2", "good, theirs");
  EXPECT_EQ(start(), "good, theirs");
}

TEST_F(SharedCopy, OfThisHostIsNoNewerThanTheOneHere) {
  write("x");
  keep_here("good, here", path_);
  shared_by(host_name(), "good, as it could be written");
  shared_.copy->directory = directory_;
  EXPECT_EQ(start(), "good, here\n");
  EXPECT_THAT(trouble_.message, HasSubstr("the last copy of " + path_ + " that could be used"));
  // The one here is lost: it is that of this file, or of none.
  std::filesystem::remove(copy_path(kPartitionFile, directory_));
  EXPECT_THAT(start(), HasSubstr("was another one, /etc/p, and does not stand in for this"));
  shared_.copy->path = path_;
  EXPECT_EQ(start(), "good, as it could be written");
  EXPECT_THAT(trouble_.message, HasSubstr("(the shelf, partitions.conf)"));
}

TEST_F(SharedCopy, OneThatCannotBeReadLeavesTheOwnOne) {
  write("x");
  keep_here("good, here", path_);
  shared_.trouble = "etcd does not answer";
  EXPECT_EQ(start(), "good, here\n");
  EXPECT_THAT(trouble_.message, HasSubstr("etcd does not answer"));
  std::filesystem::remove(copy_path(kPartitionFile, directory_));
  EXPECT_EQ(start(), path_ + " is broken\netcd does not answer");
}

TEST_F(SharedCopy, OneThatCannotBeUsedHereLetsNoOlderOneIn) {
  write("x");
  keep_here("good, of last year", path_);
  shared_by("head2", "of a newer release");
  EXPECT_EQ(start(), path_ + " is broken");
}

}  // namespace
}  // namespace sm::daemon
