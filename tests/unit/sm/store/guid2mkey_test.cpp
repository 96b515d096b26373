// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/guid2mkey.h"

#include <gtest/gtest.h>

namespace sm::store {
namespace {

std::string mistake(std::string_view text) {
  const auto read = read_guid2mkey(text);
  EXPECT_FALSE(read);
  return read ? "" : read.error().message;
}

TEST(Guid2MKey, IsReadAsItWasWritten) {
  const std::map<ib::Guid, std::uint64_t> keys{{ib::Guid{0x2c903}, 0x1122334455667788},
                                               {ib::Guid{0x2c904}, 0}};
  const std::string text = write_guid2mkey(keys);
  EXPECT_EQ(text,
            "0x000000000002c903 0x1122334455667788\n\n0x000000000002c904 0x0000000000000000\n\n");
  EXPECT_EQ(*read_guid2mkey(text), keys);
  EXPECT_TRUE(read_guid2mkey("# nothing\r\n\n")->empty());
  EXPECT_EQ(read_guid2mkey("0x1\t0x2\n0x1 0x2\n")->size(), 1U);
}

TEST(Guid2MKey, OneMistakeAndNothingIsTaken) {
  EXPECT_EQ(mistake("0x1 0x2\nrubbish\n"), "2:1: expected a port GUID (0x...), got 'rubbish'");
  EXPECT_EQ(mistake("0x0 0x2\n"), "1:1: expected a port GUID (0x...), got '0x0'");
  EXPECT_EQ(mistake("0x1\n"), "1:4: expected an M_Key (0x...), got ''");
  EXPECT_EQ(mistake("  0x1 2\n"), "1:7: expected an M_Key (0x...), got '2'");
  EXPECT_EQ(mistake("0x1 0x2 0x3\n"), "1:5: expected an M_Key (0x...), got '0x2 0x3'");
  EXPECT_EQ(mistake("0x1 0x2\n0x1 0x3\n"),
            "2:1: expected a GUID that is not there with another key yet, got '0x1'");
}

}  // namespace
}  // namespace sm::store
