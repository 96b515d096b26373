// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whom the next master is to ask, as it is stored.
#include "sm/daemon/clients_kept.h"

#include <gtest/gtest.h>

namespace sm::daemon {
namespace {

using ib::Guid;

TEST(ClientsKept, WhatIsStoredNamesThoseWhoAreNotAskedYet) {
  store::Contents contents;
  ClientsKept clients(contents);
  const auto keep = [&](const store::Batch& batch) {
    store::apply(batch, contents);
    return !batch.empty();
  };
  EXPECT_FALSE(keep(clients.add({})));
  EXPECT_TRUE(keep(clients.add({false, {Guid{7}}})));
  EXPECT_FALSE(keep(clients.add({false, {Guid{7}}}))) << "nothing is written twice";
  EXPECT_TRUE(keep(clients.add({true, {Guid{5}}})));
  EXPECT_EQ(core::clients_to_ask(contents), (core::ClientsToAsk{true, {Guid{5}, Guid{7}}}));
  EXPECT_TRUE(keep(clients.set({false, {Guid{5}}})));
  EXPECT_EQ(core::clients_to_ask(contents), (core::ClientsToAsk{false, {Guid{5}}}));
  EXPECT_TRUE(keep(clients.set({})));
  EXPECT_EQ(contents, store::Contents{});
}

TEST(ClientsKept, WhatAnotherOneStoredCounts) {
  store::Contents contents;
  ClientsKept clients(contents);
  (void)clients.add({false, {Guid{1}}});
  contents.clients_to_ask = {store::kAllClients, Guid{5}};
  clients.take(contents);
  store::apply(clients.set({false, {Guid{5}, Guid{6}}}), contents);
  EXPECT_EQ(core::clients_to_ask(contents), (core::ClientsToAsk{false, {Guid{5}, Guid{6}}}));
}

}  // namespace
}  // namespace sm::daemon
