// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Stores on a pretended etcd, as tests of them open, write and read them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "sm/store/etcd/etcd_store.h"
#include "tests/unit/sm/store/etcd_fake.h"

namespace sm::store::etcd {

inline BookOptions options(std::string holder = "a") {
  BookOptions o;
  o.prefix = "/ibkit/default/";
  o.fabric = "fe80000000000000";
  o.holder = std::move(holder);
  return o;
}

inline Opened open_well(FakeEtcd& etcd, BookOptions o) {
  auto opened = EtcdStore::open(std::move(o), std::make_unique<FakeCluster>(etcd));
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : Opened{};
}
/// One that writes.
inline std::unique_ptr<Store> master(FakeEtcd& etcd, std::string holder = "a") {
  auto opened = open_well(etcd, options(std::move(holder)));
  EXPECT_TRUE(opened.store->take());
  return std::move(opened.store);
}
inline Contents kept_in(FakeEtcd& etcd) { return open_well(etcd, options("reader")).contents; }

inline Batch lid(std::uint64_t guid, std::uint16_t lid) {
  Batch batch;
  batch.lids = {{ib::Guid{guid}, ib::Lid{lid}, 0}};
  return batch;
}
inline std::string lines_of(Store& store) {
  std::string text;
  while (store.rest() == ib::Duration{0})
    for (const auto& line : store.on_time()) text += line.message + '\n';
  return text;
}
inline SharedStore& shared(Store& store) { return dynamic_cast<SharedStore&>(store); }
/// When it looks whether everything is still there.
inline std::string look(Store& store) {
  EXPECT_EQ(store.rest(), EtcdStore::kLookEvery);
  std::string text;
  for (const auto& line : store.on_time()) text += line.message + '\n';
  return text + lines_of(store);
}
/// When it tries again.
inline std::string retry(Store& store) {
  EXPECT_EQ(store.rest(), EtcdStore::kTryEvery);
  std::string text;
  for (const auto& line : store.on_time()) text += line.message + '\n';
  return text;
}

}  // namespace sm::store::etcd
