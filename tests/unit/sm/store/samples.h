// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Records of every kind for tests of the store, and a directory to keep them in.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "sm/store/store.h"

namespace sm::store {

/// A directory of its own for each test, gone afterwards: in memory, where nobody waits for a disk,
/// if there is such a place.
class Directory {
 public:
  Directory() {
    namespace fs = std::filesystem;
    const fs::path memory = "/dev/shm";
    const auto parent = ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
    auto pattern = (parent / "ibkit-store-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string database() const { return path_ + "/ibsm.db"; }

 private:
  std::string path_;
};

inline ib::Gid mgid(std::uint8_t n) {
  ib::Gid g;
  g.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF};
  g.bytes[15] = n;
  return g;
}
inline McGroup group(std::uint8_t n) {
  McGroup g;
  g.mgid = mgid(n);
  g.mlid = ib::Lid{static_cast<std::uint16_t>(0xC000 + n)};
  g.q_key = 0x80000b1b;
  g.p_key = ib::PKey{0x8001};
  g.mtu = 4;
  g.rate = 3;
  g.packet_life = 18;
  g.traffic_class = 7;
  g.sl = ib::Sl{2};
  g.flow_label = 0xFFFFF;
  g.hop_limit = 9;
  g.scope = 2;
  g.well_known = n == 0;
  return g;
}
inline McMember member(std::uint8_t g, std::uint64_t port, std::uint8_t state) {
  return {mgid(g), ib::Gid::from(ib::kDefaultSubnetPrefix, ib::Guid{port}), state, (port & 1) != 0};
}

inline Service service(std::uint64_t id, std::uint8_t n) {
  Service s;
  s.record.service_id = id;
  s.record.service_gid = mgid(n);
  s.record.service_p_key = ib::PKey{static_cast<std::uint16_t>(0xFFFF - n % 2)};
  s.record.lease = 0x80000000U + n;
  s.record.key.fill(n);
  s.record.name.fill(static_cast<char>('a' + n));  // all 64, no end mark
  s.record.data8.fill(static_cast<std::uint8_t>(0xF0 + n));
  s.record.data16.fill(static_cast<std::uint16_t>(0xFF00 + n));
  s.record.data32.fill(0xFFFFFF00U + n);
  s.record.data64.fill(0xFFFFFFFFFFFFFF00ULL + n);
  s.expires = n == 0 ? Service::kNeverExpires : 1'800'000'000 + n;
  s.owner = ib::Guid{0xF000000000000000ULL + n};
  return s;
}
inline Subscription subscription(std::uint16_t lid, std::uint8_t n, bool with_grh) {
  Subscription s;
  s.subscriber = ib::Guid{0xF000000000000000ULL + lid};
  s.to.lid = ib::Lid{lid};
  s.to.qpn = 0xFFFFFF;
  s.to.q_key = 0x80010000;
  s.to.sl = ib::Sl{15};
  s.to.path_bits = 0x7F;
  s.to.p_key_index = 0xFFFF;
  if (with_grh) s.to.grh = ib::mad::Grh{mgid(n), 3, 0xFF, 0xFE, 0xFFFFF};
  s.inform_info.gid = n % 3 == 0 ? mgid(n) : ib::Gid{};
  s.inform_info.lid_range_begin = ib::Lid{static_cast<std::uint16_t>(0xFFFF - n)};
  s.inform_info.lid_range_end = ib::Lid{n};
  s.inform_info.is_generic = 1;
  s.inform_info.subscribe = 1;
  s.inform_info.type = 0xFFFF;
  s.inform_info.trap_number = static_cast<std::uint16_t>(64 + n);
  s.inform_info.qpn = 0xFFFFFE;
  s.inform_info.resp_time_value = 31;
  s.inform_info.producer_type = 0xFFFFFF;
  s.trusted = with_grh;
  s.by_secret = with_grh && n % 2 == 0;
  return s;
}

/// A change of everything that there is, of few keys, so that batches meet.
inline Batch random_batch(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<std::uint8_t>(random() % n); };
  Batch batch;
  batch.forget_lids = below(15) == 0;
  for (int i = below(4); i > 0; --i) batch.lids_removed.push_back(ib::Guid{below(20)});
  for (int i = below(6); i > 0; --i)
    batch.lids.push_back(
        {ib::Guid{below(20)}, ib::Lid{static_cast<std::uint16_t>(1 + below(90))}, 0});
  if (below(4) == 0) batch.groups_removed.push_back(mgid(below(5)));
  for (int i = below(3); i > 0; --i) batch.groups.push_back(group(below(5)));
  for (int i = below(8); i > 0; --i) batch.members.push_back(member(below(5), below(9), below(3)));
  for (int i = below(3); i > 0; --i)
    batch.services_removed.push_back(service(below(4), below(4)).key());
  for (int i = below(4); i > 0; --i) {
    batch.services.push_back(service(below(4), below(4)));
    batch.services.back().expires = -static_cast<std::int64_t>(below(9));
  }
  for (int i = below(3); i > 0; --i)
    batch.subscriptions_removed.push_back(subscription(below(3), below(6), below(2) == 0));
  for (int i = below(4); i > 0; --i)
    batch.subscriptions.push_back(subscription(below(3), below(6), below(2) == 0));
  for (int i = below(3); i > 0; --i)
    batch.aliases_forgotten.emplace_back(ib::Guid{below(3)}, std::uint16_t{below(7)});
  for (int i = below(6); i > 0; --i)
    batch.aliases.push_back({ib::Guid{below(3)}, below(7), ib::Guid{below(4)}});
  for (int i = below(6); i > 0; --i)
    batch.partition_members.push_back({static_cast<std::uint16_t>(1 + below(3)), ib::Guid{below(4)},
                                       static_cast<std::uint8_t>(below(4)),
                                       std::string(below(5), 'o')});
  for (int i = below(3); i > 0; --i)
    batch.generated_p_keys.push_back(
        {std::string(1 + below(3), 'n'), static_cast<std::uint16_t>(1 + below(9))});
  for (int i = below(3); i > 0; --i)
    batch.counted_windows_removed.push_back(
        {ib::Guid{below(3)}, below(3), below(3) * std::int64_t{3600}});
  for (int i = below(5); i > 0; --i)
    batch.counted_windows.push_back({{ib::Guid{below(3)}, below(3), below(3) * std::int64_t{3600}},
                                     below(9),
                                     std::vector<std::byte>(below(9), std::byte{below(9)})});
  if (below(20) == 0)  // many in order
    for (unsigned i = 0; i < 80; ++i)
      batch.counted_windows.push_back(
          {{ib::Guid{4}, static_cast<std::uint8_t>(i), below(2) * std::int64_t{3600}},
           below(9),
           {std::byte{1}}});
  for (int i = below(3); i > 0; --i) batch.clients_asked.push_back(ib::Guid{below(6)});
  for (int i = below(4); i > 0; --i) batch.clients_to_ask.push_back(ib::Guid{below(6)});
  for (int i = below(3); i > 0; --i) batch.clients_sure.push_back(ib::Guid{below(6)});
  for (int i = below(4); i > 0; --i) batch.clients_in_doubt.push_back(ib::Guid{below(6)});
  if (below(3) == 0) batch.writers.push_back(ib::Guid{below(6)});
  if (below(3) == 0) batch.vls = static_cast<DeviceVls>(below(3));
  if (below(3) == 0) batch.routes.emplace(below(3) * std::size_t{3000}, std::byte{below(9)});
  return batch;
}

}  // namespace sm::store
