// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/activity.h"

#include <gtest/gtest.h>

#include <string>

namespace sm::config {
namespace {

TEST(ActivitySubjects, AreWordsWithCommasBetweenThem) {
  EXPECT_EQ(activity_subjects("mc, prtn").value_or(99), 3);
  EXPECT_EQ(activity_subjects("all").value_or(99), 15);
  EXPECT_EQ(activity_subjects("virt,all").value_or(99), 15);
  EXPECT_EQ(activity_subjects("none").value_or(99), 0);
  EXPECT_EQ(activity_subjects("").value_or(99), 0);
}

TEST(ActivitySubjects, NoneStandsAloneAndNoWordIsEmpty) {
  const auto refused = [](const char* list) {
    const auto read = activity_subjects(list);
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(refused("mc,none"), "expected none alone, got 'mc,none'");
  EXPECT_EQ(refused("none,none"), "expected none alone, got 'none,none'");
  EXPECT_EQ(refused("mc,,prtn"), "expected mc, prtn, virt, routing, all or none, got ''");
  EXPECT_EQ(refused("mc,"), "expected mc, prtn, virt, routing, all or none, got ''");
  EXPECT_EQ(refused("prt"),
            "expected mc, prtn, virt, routing, all or none, got 'prt'; did you mean 'prtn'?");
}

}  // namespace
}  // namespace sm::config
