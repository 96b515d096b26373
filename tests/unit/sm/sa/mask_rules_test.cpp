// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Components that do more than compare: those of PathRecord, and the selectors of MCMemberRecord.
// Every one alone and all of them at random, against a reading of the full table that knows bits at
// offsets and the rules as the specification tells them, and nothing of ours.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "sm/sa/registry/membership.h"
#include "tests/unit/sm/sa/masks.h"

namespace sm::sa::test {
namespace {

namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

/// What comes back: a status, and the records of a table without one.
struct Answer {
  std::uint16_t status{};
  std::vector<Bytes> records;
  friend bool operator==(const Answer&, const Answer&) = default;
};

Answer ask(Bench& bench, std::uint16_t attribute, const Bytes& wanted, std::uint64_t mask) {
  auto request = bench.request(Method::GetTable, attribute, mask);
  std::copy(wanted.begin(), wanted.end(), request.mad.data());
  const auto reply = bench.ask_table(request);
  Answer answer{reply.mad.status(), {}};
  if (answer.status != status::kOk) return answer;
  const auto shape = ib::query::table_shape(reply, wanted.size());
  EXPECT_TRUE(shape);
  answer.records.assign(shape ? shape->count : 0, Bytes(wanted.size()));
  for (std::size_t i = 0; i < answer.records.size(); ++i)
    ib::query::copy_data(reply, i * shape->stride, answer.records[i].data(), wanted.size());
  std::ranges::sort(answer.records);
  return answer;
}

std::vector<bool> number_as_bits(std::uint64_t n, std::size_t width) {
  std::vector<bool> out(width);
  for (std::size_t i = 0; i < width; ++i) out[i] = (n >> (width - 1 - i) & 1) != 0;
  return out;
}

/// Rate codes from slow to fast (IBA 15.2.5.16, and the newer ones), and how fast a code is.
constexpr std::array kRates{2, 5,  3,  11, 6,  4,  15, 19, 7,  8,  20, 12,
                            9, 10, 16, 13, 14, 17, 18, 21, 22, 23, 24, 25};
int speed_of(std::uint64_t rate) {
  const auto at = std::ranges::find(kRates, static_cast<int>(rate));
  return at == kRates.end() ? -1 : static_cast<int>(at - kRates.begin());
}
/// The fastest that is slower, of those that hosts without CapabilityMask2 know; 0: none.
std::uint64_t slower_and_old(std::uint64_t rate) {
  for (int at = speed_of(rate) - 1; at >= 0; --at)
    if (kRates[static_cast<std::size_t>(at)] <= 18)
      return static_cast<std::uint64_t>(kRates[static_cast<std::size_t>(at)]);
  return 0;
}

enum Selector : std::uint64_t { kAbove, kBelow, kExactly, kLargest };

struct Field {
  std::size_t byte, bit, width;
  std::uint64_t of(const Bytes& record) const { return number(record, byte * 8 + bit, width); }
  void set(Bytes& record, std::uint64_t n) const {
    write_bits(record, byte * 8 + bit, number_as_bits(n, width));
  }
};

// ---- PathRecord (IBA 15.2.5.16)

constexpr Field kServiceId{0, 0, 64}, kDgidPrefix{8, 0, 64}, kDguid{16, 0, 64},
    kSgidPrefix{24, 0, 64}, kSguid{32, 0, 64}, kDlid{40, 0, 16}, kSlid{42, 0, 16}, kRaw{44, 0, 1},
    kFlowLabel{44, 4, 20}, kHopLimit{47, 0, 8}, kTClass{48, 0, 8}, kReversible{49, 0, 1},
    kNumbPath{49, 1, 7}, kPKey{50, 0, 16}, kQosClass{52, 0, 12}, kSl{53, 4, 4},
    kMtuSelector{54, 0, 2}, kMtu{54, 2, 6}, kRateSelector{55, 0, 2}, kRate{55, 2, 6},
    kLifeSelector{56, 0, 2}, kLife{56, 2, 6}, kPreference{57, 0, 8};

/// Hosts of many speeds and MTUs, so that bounds tell paths apart.
Fabric uneven_tree() {
  auto fabric = small_tree();
  const auto hosts = hosts_of(fabric);
  using ib::wire::LinkSpeed;
  using ib::wire::LinkWidth;
  const std::pair<LinkSpeed, LinkWidth> links[] = {{LinkSpeed::Edr, LinkWidth::W4x},
                                                   {LinkSpeed::Sdr, LinkWidth::W1x},
                                                   {LinkSpeed::Qdr, LinkWidth::W4x},
                                                   {LinkSpeed::Fdr, LinkWidth::W4x},
                                                   {LinkSpeed::Edr, LinkWidth::W1x}};
  for (std::size_t i = 0; i < hosts.size(); ++i)
    for (const PortRef end : {hosts[i], fabric.port(hosts[i]).peer})
      std::tie(fabric.port(end).speed, fabric.port(end).width) = links[i % std::size(links)];
  return fabric;
}

class SaPathMasks : public ::testing::Test {
 protected:
  SaPathMasks() : all_(ask(bench_, attr::kPathRecord, Bytes(64), 0).records) {
    for (const auto& record : all_) {
      lid_of_[kDguid.of(record)] = kDlid.of(record);
      guid_of_[kDlid.of(record)] = kDguid.of(record);
    }
  }

  /// One end: what GID and LID say. A status, or whether any port is meant.
  struct End {
    std::uint16_t status{};
    bool nobody{};
  };
  End end(const Bytes& wanted, bool by_gid, const Field& prefix, const Field& guid, bool by_lid,
          const Field& lid) const {
    if (by_gid && prefix.of(wanted) != ib::kDefaultSubnetPrefix)
      return {status::kSaInvalidGid, false};
    if (by_gid && !lid_of_.contains(guid.of(wanted))) return {0, true};
    if (by_lid && !guid_of_.contains(lid.of(wanted))) return {0, true};
    if (by_gid && by_lid && guid_of_.at(lid.of(wanted)) != guid.of(wanted))
      return {status::kSaReqInvalid, false};
    return {};
  }

  Answer expected(const Bytes& wanted, std::uint64_t mask) const {
    const auto has = [&](unsigned n) { return (mask >> n & 1) != 0; };
    if (has(16) && has(17) && (kMtu.of(wanted) < 1 || kMtu.of(wanted) > 5))
      return {status::kSaReqInvalid, {}};
    if (has(18) && has(19) && speed_of(kRate.of(wanted)) < 0) return {status::kSaReqInvalid, {}};
    if (has(0) != has(1)) return {status::kSaInsufficientComponents, {}};
    if (has(6) && kRaw.of(wanted) == 1) return {status::kSaReqInvalid, {}};
    for (const auto& one : {end(wanted, has(3), kSgidPrefix, kSguid, has(5), kSlid),
                            end(wanted, has(2), kDgidPrefix, kDguid, has(4), kDlid)}) {
      if (one.status != 0) return {one.status, {}};
      if (one.nobody) return {};
    }
    Answer answer;
    for (auto record : all_) {
      const auto same = [&](const Field& field) { return field.of(record) == field.of(wanted); };
      if ((has(2) && !same(kDguid)) || (has(3) && !same(kSguid)) || (has(4) && !same(kDlid)) ||
          (has(5) && !same(kSlid)))
        continue;
      if (has(11) && kReversible.of(wanted) == 1 && kReversible.of(record) == 0) continue;
      if (has(12) && kNumbPath.of(wanted) == 0) continue;
      if (has(13) && (kPKey.of(wanted) & 0x7FFF) != 0x7FFF) continue;
      if (has(16) && has(17) && !fit_mtu(record, wanted)) continue;
      if (has(18) && has(19) && !fit_rate(record, wanted)) continue;
      if (has(20) && has(21) && !fit_life(record, wanted)) continue;
      if (has(0)) kServiceId.set(record, kServiceId.of(wanted));
      if (has(13)) kPKey.set(record, kPKey.of(wanted));
      if (has(15)) kSl.set(record, kSl.of(wanted));
      answer.records.push_back(record);
    }
    std::ranges::sort(answer.records);
    return answer;
  }
  static bool fit_mtu(Bytes& record, const Bytes& wanted) {
    const auto has = kMtu.of(record), asked = kMtu.of(wanted);
    switch (kMtuSelector.of(wanted)) {
      case kAbove:
        return has > asked;
      case kBelow:
        if (has >= asked) kMtu.set(record, asked - 1);
        return asked > 1;
      case kExactly:
        kMtu.set(record, asked);
        return has >= asked;
      default:
        return true;
    }
  }
  static bool fit_rate(Bytes& record, const Bytes& wanted) {
    const auto has = kRate.of(record), asked = kRate.of(wanted);
    switch (kRateSelector.of(wanted)) {
      case kAbove:
        return speed_of(has) > speed_of(asked);
      case kBelow:
        if (speed_of(has) >= speed_of(asked)) kRate.set(record, slower_and_old(asked));
        return kRate.of(record) != 0;
      case kExactly:
        return has == asked;
      default:
        return true;
    }
  }
  static bool fit_life(Bytes& record, const Bytes& wanted) {
    const auto has = kLife.of(record), asked = kLife.of(wanted);
    switch (kLifeSelector.of(wanted)) {
      case kAbove:
        return has > asked;
      case kBelow:
        if (has >= asked && asked > 0) kLife.set(record, asked - 1);
        return asked > 0;
      case kExactly:
        kLife.set(record, asked);
        return has >= asked;
      default:
        return true;
    }
  }

  void check(const Bytes& wanted, std::uint64_t mask) {
    const auto got = ask(bench_, attr::kPathRecord, wanted, mask);
    const auto want = expected(wanted, mask);
    EXPECT_EQ(got.status, want.status) << std::hex << "mask " << mask;
    found_ += want.records.empty() ? 0U : 1U;
    EXPECT_TRUE(got == want) << std::hex << "mask " << mask << std::dec << ": "
                             << got.records.size() << " records, expected " << want.records.size();
  }

  Bench bench_{uneven_tree()};
  std::vector<Bytes> all_;
  std::size_t found_{0};  // questions with an answer
  std::map<std::uint64_t, std::uint64_t> lid_of_, guid_of_;
};

struct Piece {
  unsigned mask_bit;
  Field field;
};
const std::vector<Piece> kPathPieces{
    {0, {0, 0, 32}},    {1, {4, 0, 32}},  {2, kDguid},         {3, kSguid},     {4, kDlid},
    {5, kSlid},         {6, kRaw},        {8, kFlowLabel},     {9, kHopLimit},  {10, kTClass},
    {11, kReversible},  {12, kNumbPath},  {13, kPKey},         {14, kQosClass}, {15, kSl},
    {16, kMtuSelector}, {17, kMtu},       {18, kRateSelector}, {19, kRate},     {20, kLifeSelector},
    {21, kLife},        {22, kPreference}};

TEST_F(SaPathMasks, TheTableIsWorthAsking) {
  std::map<std::uint64_t, int> rates, mtus;
  for (const auto& record : all_) ++rates[kRate.of(record)];
  EXPECT_EQ(all_.size(), 22U * 22U);
  EXPECT_GE(rates.size(), 5U);
}

TEST_F(SaPathMasks, EveryBitAlone) {
  for (const auto& piece : kPathPieces) {
    SCOPED_TRACE(::testing::Message() << "component-mask bit " << piece.mask_bit);
    const auto mask = std::uint64_t{1} << piece.mask_bit;
    for (const auto& record : {all_.front(), all_[all_.size() / 2], all_.back()}) {
      for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, piece.field.of(record),
                                        ~piece.field.of(record), ~std::uint64_t{0}}) {
        Bytes wanted = record;
        piece.field.set(wanted, value);
        check(wanted, mask);
      }
    }
  }
}

/// A selector and its value: all there are.
TEST_F(SaPathMasks, EveryBound) {
  const Bytes one = all_[all_.size() / 3];
  const auto ends = std::uint64_t{1} << 3;  // SGID
  for (const auto& [selector, value] :
       {std::pair{kPathPieces[15], kPathPieces[16]}, std::pair{kPathPieces[17], kPathPieces[18]},
        std::pair{kPathPieces[19], kPathPieces[20]}})
    for (std::uint64_t s = 0; s < 4; ++s)
      for (std::uint64_t v = 0; v < 64; ++v) {
        Bytes wanted = one;
        selector.field.set(wanted, s);
        value.field.set(wanted, v);
        check(wanted, ends | std::uint64_t{3} << selector.mask_bit);
      }
}

TEST_F(SaPathMasks, RandomMasks) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (unsigned turn = 0; turn < 200; ++turn) {
      // One of the table's, so that ends agree, with what it says written over here and there.
      Bytes wanted = all_[random() % all_.size()];
      std::uint64_t mask = 0;
      for (const auto& piece : kPathPieces) {
        const bool is_end = piece.mask_bit >= 2 && piece.mask_bit <= 5;
        const bool spoils = piece.mask_bit == 6 || piece.mask_bit <= 1;
        if (random() % (spoils ? 30 : 3) == 0) mask |= std::uint64_t{1} << piece.mask_bit;
        if (random() % (is_end ? 30 : 4) == 0) {
          const auto low = random() % 4 == 0 ? random() : random() % 24;
          piece.field.set(wanted, low & ((std::uint64_t{2} << (piece.field.width - 1)) - 1));
        }
      }
      if (random() % 8 == 0) mask |= 3;  // the whole ServiceID
      if (random() % 3 != 0) kPKey.set(wanted, random() % 2 == 0 ? 0x7FFF : 0xFFFF);
      if (random() % 40 == 0) kSgidPrefix.set(wanted, 7);
      if (random() % 40 == 0) kDgidPrefix.set(wanted, 7);
      if (random() % 4 == 0) mask |= random() << 23;  // bits that no component has
      mask &= ~(std::uint64_t{1} << 7);
      check(wanted, mask);
      if (HasFailure()) FAIL() << "turn " << turn;
    }
  }
  EXPECT_GT(found_, 200U);
}

// ---- MCMemberRecord (IBA 15.2.5.17): selectors, and what the untrusted are told

constexpr Field kMgidLow{8, 0, 64}, kPortGuid{24, 0, 64}, kPortGid{16, 0, 64}, kQKey{32, 0, 32},
    kMlid{36, 0, 16}, kGroupMtuSelector{38, 0, 2}, kGroupMtu{38, 2, 6}, kGroupTClass{39, 0, 8},
    kGroupPKey{40, 0, 16}, kGroupRateSelector{42, 0, 2}, kGroupRate{42, 2, 6},
    kGroupLifeSelector{43, 0, 2}, kGroupLife{43, 2, 6}, kGroupSl{44, 0, 4},
    kGroupFlowLabel{44, 4, 20}, kGroupHopLimit{47, 0, 8}, kScope{48, 0, 4}, kJoinState{48, 4, 4},
    kProxyJoin{49, 0, 1};
const std::vector<Piece> kGroupPieces{
    {0, kMgidLow},     {1, kPortGuid},           {2, kQKey},
    {3, kMlid},        {4, kGroupMtuSelector},   {5, kGroupMtu},
    {6, kGroupTClass}, {7, kGroupPKey},          {8, kGroupRateSelector},
    {9, kGroupRate},   {10, kGroupLifeSelector}, {11, kGroupLife},
    {12, kGroupSl},    {13, kGroupFlowLabel},    {14, kGroupHopLimit},
    {15, kScope},      {16, kJoinState},         {17, kProxyJoin}};

store::Contents groups(const Fabric& fabric) {
  store::Contents all;
  const auto hosts = hosts_of(fabric);
  for (std::uint8_t i = 0; i < 12; ++i) {
    auto g = ipoib_group(ib::kDefaultPKey);
    g.mgid.bytes[15] = i;
    g.mlid = Lid{static_cast<std::uint16_t>(0xC010 + i)};
    g.well_known = false;
    g.mtu = static_cast<std::uint8_t>(1 + i % 5);
    g.rate = static_cast<std::uint8_t>(i % 3 == 0 ? 2 : i % 3 == 1 ? 3 : 10);
    g.packet_life = static_cast<std::uint8_t>(14 + i % 4);
    g.sl = ib::Sl{static_cast<std::uint8_t>(i % 3)};
    g.traffic_class = i % 2;
    all.groups.push_back(g);
    for (std::size_t host = i % 4; host < hosts.size(); host += 1 + i % 5)
      all.members.push_back({g.mgid,
                             Gid::from(ib::kDefaultSubnetPrefix, fabric.port(hosts[host]).guid),
                             static_cast<std::uint8_t>(host % 2 == 0 ? 1 : 4), host % 3 == 0});
  }
  std::ranges::sort(all.members, {}, [](const auto& m) { return std::pair(m.mgid, m.port_gid); });
  return all;
}

class SaGroupMasks : public ::testing::TestWithParam<bool> {
 protected:
  SaGroupMasks() : bench_(small_tree(), {}, groups(small_tree())) {
    groups_ = ask(bench_, attr::kMcMemberRecord, Bytes(52), 0).records;
    bench_.sm_key = 1;
    members_ = ask(bench_, attr::kMcMemberRecord, Bytes(52), 0).records;
    if (!GetParam()) bench_.sm_key = 0;
  }

  Answer expected(const Bytes& wanted, std::uint64_t mask) const {
    const auto has = [&](unsigned n) { return (mask >> n & 1) != 0; };
    if (has(4) && has(5) && (kGroupMtu.of(wanted) < 1 || kGroupMtu.of(wanted) > 5))
      return {status::kSaReqInvalid, {}};
    if (has(8) && has(9) && speed_of(kGroupRate.of(wanted)) < 0) return {status::kSaReqInvalid, {}};
    Answer answer;
    const bool trusted = GetParam();
    for (auto record : trusted || has(1) ? members_ : groups_) {
      if (has(1) && kPortGuid.of(record) != kPortGuid.of(wanted)) continue;
      if (!trusted)  // who is in, and how, is not told
        for (const auto& hidden : {kPortGid, kPortGuid, kJoinState, kProxyJoin})
          hidden.set(record, 0);
      const auto differs = [&](unsigned n, const Field& field) {
        return has(n) && field.of(record) != field.of(wanted);
      };
      const auto a = kGroupPKey.of(record), b = kGroupPKey.of(wanted);
      if (differs(0, kMgidLow) || differs(2, kQKey) || differs(3, kMlid) ||
          differs(6, kGroupTClass) || differs(12, kGroupSl) || differs(13, kGroupFlowLabel) ||
          differs(14, kGroupHopLimit) || differs(15, kScope) || differs(16, kJoinState) ||
          differs(17, kProxyJoin) ||
          (has(7) && ((a & 0x7FFF) != (b & 0x7FFF) || ((a | b) & 0x8000) == 0)))
        continue;
      // A selector alone goes by what its value's field holds; a value alone is compared.
      if (has(4)
              ? !is_meant(kGroupMtuSelector.of(wanted), kGroupMtu.of(record), kGroupMtu.of(wanted))
              : differs(5, kGroupMtu))
        continue;
      const auto speed = [](std::uint64_t rate) {
        return static_cast<std::uint64_t>(speed_of(rate));
      };
      if (has(8) ? !is_meant(kGroupRateSelector.of(wanted), speed(kGroupRate.of(record)),
                             speed(kGroupRate.of(wanted)))
                 : differs(9, kGroupRate))
        continue;
      if (has(10) ? has(11) && !is_meant(kGroupLifeSelector.of(wanted), kGroupLife.of(record),
                                         kGroupLife.of(wanted))
                  : differs(11, kGroupLife))
        continue;
      answer.records.push_back(record);
    }
    std::ranges::sort(answer.records);
    return answer;
  }
  static bool is_meant(std::uint64_t selector, std::uint64_t has, std::uint64_t asked) {
    return selector == kLargest || (selector == kAbove && has > asked) ||
           (selector == kBelow && has < asked) || (selector == kExactly && has == asked);
  }
  void check(const Bytes& wanted, std::uint64_t mask) {
    const auto got = ask(bench_, attr::kMcMemberRecord, wanted, mask);
    const auto want = expected(wanted, mask);
    EXPECT_EQ(got.status, want.status) << std::hex << "mask " << mask;
    found_ += want.records.empty() ? 0U : 1U;
    EXPECT_TRUE(got == want) << std::hex << "mask " << mask << std::dec << ": "
                             << got.records.size() << " records, expected " << want.records.size();
  }

  Bench bench_;
  std::vector<Bytes> groups_, members_;
  std::size_t found_{0};  // questions with an answer
};

TEST_P(SaGroupMasks, EveryBitAlone) {
  for (const auto& piece : kGroupPieces) {
    SCOPED_TRACE(::testing::Message() << "component-mask bit " << piece.mask_bit);
    for (const auto& record : {members_.front(), members_[members_.size() / 2], members_.back()})
      for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, piece.field.of(record),
                                        ~piece.field.of(record), ~std::uint64_t{0}}) {
        Bytes wanted = record;
        piece.field.set(wanted, value);
        check(wanted, std::uint64_t{1} << piece.mask_bit);
      }
  }
}

TEST_P(SaGroupMasks, EveryBound) {
  for (const std::size_t at : {4U, 8U, 10U})
    for (std::uint64_t s = 0; s < 4; ++s)
      for (std::uint64_t v = 0; v < 64; ++v) {
        Bytes wanted = members_.front();
        kGroupPieces[at].field.set(wanted, s);
        kGroupPieces[at + 1].field.set(wanted, v);
        check(wanted, std::uint64_t{3} << at);
      }
}

TEST_P(SaGroupMasks, RandomMasks) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (unsigned turn = 0; turn < 200; ++turn) {
      Bytes wanted = members_[random() % members_.size()];
      const auto& other = members_[random() % members_.size()];
      std::uint64_t mask = 0;
      for (const auto& piece : kGroupPieces) {
        if (random() % 4 == 0) mask |= std::uint64_t{1} << piece.mask_bit;
        if (random() % 6 != 0) continue;
        piece.field.set(wanted, random() % 2 == 0 ? piece.field.of(other) : random() % 20);
      }
      if (random() % 4 == 0) mask |= random() << 18;  // bits that no component has
      check(wanted, mask);
      if (HasFailure()) FAIL() << "turn " << turn;
    }
  }
  EXPECT_GT(found_, 200U);
}

INSTANTIATE_TEST_SUITE_P(All, SaGroupMasks, ::testing::Bool(), [](const auto& parameter) {
  return std::string(parameter.param ? "Trusted" : "Untrusted");
});

}  // namespace
}  // namespace sm::sa::test
