// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "libdiag/mad/describe.h"
#include "libdiag/mad/session.h"
#include "libdiag/mad/tap/pcap.h"
#include "libdiag/mad/tap/taps.h"
#include "tests/unit/mad/toy_fabric.h"

namespace ib::mad {
namespace {

using namespace std::chrono_literals;
using test::ToyFabric;
using wire::Method;
using wire::MgmtClass;
namespace attr = wire::attr;

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::temp_directory_path() /
         ("ibkit-" + std::to_string(::getpid()) + "-" + name);
}

Request ask_for(std::uint16_t lid, std::uint16_t attribute = attr::kNodeInfo) {
  return smp_request(0, lid, Lid{lid}, Method::Get, attribute, 0);
}

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) out += buffer.data();
  ::pclose(pipe);
  return out;
}

struct Sent {
  MgmtClass mgmt_class;
  Method method;
  std::uint16_t attribute;
  std::uint32_t modifier;
  Lid slid, dlid;
};
const std::vector<Sent> kSent = {
    {MgmtClass::SubnDirected, Method::Get, attr::kNodeInfo, 0, kPermissiveLid, kPermissiveLid},
    {MgmtClass::SubnDirected, Method::Set, attr::kPortInfo, 7, kPermissiveLid, kPermissiveLid},
    {MgmtClass::SubnLid, Method::GetResp, attr::kLinearForwarding, 3, Lid{12}, Lid{1}},
    {MgmtClass::SubnLid, Method::Trap, attr::kNotice, 0, Lid{12}, Lid{1}},
    {MgmtClass::SubnAdm, Method::GetTable, attr::kNodeRecord, 0, Lid{4}, Lid{1}},
    {MgmtClass::SubnAdm, Method::GetTableResp, attr::kPathRecord, 0, Lid{1}, Lid{4}},
    {MgmtClass::Perf, Method::Get, attr::kPortCounters, 0, Lid{4}, Lid{0xBFFF}},
    {MgmtClass::VendorIbtracer, Method::Get, attr::kSourceRoute, 0, Lid{4}, Lid{5}},
    {MgmtClass::VendorPing, Method::GetResp, attr::kPing, 0, Lid{5}, Lid{4}},
};

void write_all(const std::filesystem::path& path) {
  auto writer = PcapWriter::open(path);
  ASSERT_TRUE(writer);
  Instant at{1'500'000'000};
  for (const Sent& s : kSent) {
    Packet packet;
    packet.mad = wire::make_mad(s.mgmt_class, s.method, s.attribute, s.modifier);
    packet.mad.set<&wire::MadHeader::tid>(Tid{0x1122334455667788});
    if (s.mgmt_class == MgmtClass::Perf) packet.address.grh = Grh{.hop_limit = 64};
    writer->write(at, s.slid, s.dlid, wire::is_smp(s.mgmt_class), packet);
    at = at + 1ms;
  }
  ASSERT_TRUE(writer->flush());
}

/// What tshark makes of the capture is what was sent.
void expect_read_back(const std::filesystem::path& path, const std::string& options) {
  const std::string read = output_of(
      "tshark -r " + path.string() + options +
      " -T fields -e infiniband.lrh.slid -e infiniband.lrh.dlid -e infiniband.bth.destqp"
      " -e infiniband.mad.mgmtclass -e infiniband.mad.method -e infiniband.mad.attributeid"
      " -e infiniband.mad.attributemodifier -e infiniband.mad.transactionid"
      " -e frame.time_epoch -e _ws.malformed 2>&1");
  std::istringstream lines(read);
  std::string line;
  std::size_t n = 0;
  while (std::getline(lines, line)) {
    if (line.find("as user \"root\"") != std::string::npos) continue;
    ASSERT_LT(n, kSent.size()) << line;
    const Sent& s = kSent[n];
    char wanted[256];
    std::snprintf(wanted, sizeof wanted,
                  "%u\t%u\t0x%06x\t0x%02x\t0x%02x\t0x%04x\t0x%08x\t0x1122334455667788\t"
                  "1.50%zu000000\t",
                  s.slid.value, s.dlid.value, wire::is_smp(s.mgmt_class) ? 0U : 1U,
                  static_cast<unsigned>(s.mgmt_class), static_cast<unsigned>(s.method), s.attribute,
                  s.modifier, n);
    EXPECT_EQ(line, wanted) << n;
    ++n;
  }
  EXPECT_EQ(n, kSent.size()) << read;
}

TEST(Pcap, TsharkReadsWhatWasSentInErf) {
  const auto path = temporary("sent.erf.pcap");
  write_all(path);
  expect_read_back(path, "");
  std::filesystem::remove(path);
}

TEST(Pcap, TsharkReadsWhatWasSentInLinkType247) {
  const auto path = temporary("sent.pcap");
  write_all(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::uint32_t link_type = 0;
  file.seekg(20).read(reinterpret_cast<char*>(&link_type), sizeof link_type);
  EXPECT_EQ(link_type, 247U);
  // tshark 4.0 refuses 247, so the same bytes are shown to it as user type 0 = InfiniBand.
  link_type = 147;
  file.seekp(20).write(reinterpret_cast<const char*>(&link_type), sizeof link_type);
  file.close();
  expect_read_back(path, R"x( -o 'uat:user_dlts:"User 0 (DLT=147)","infiniband","0","","0",""')x");
  std::filesystem::remove(path);
}

TEST(Pcap, SaysWhenTheFileCannotBeMade) {
  const auto writer = PcapWriter::open("/no/such/folder/x.pcap");
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().message,
            "creating the capture /no/such/folder/x.pcap: No such file or directory");
}

TEST(Pcap, PortCapturesBothDirections) {
  const auto path = temporary("port.pcap");
  {
    auto writer = PcapWriter::open(path);
    ASSERT_TRUE(writer);
    ToyFabric fabric(3);
    PcapPort tap(fabric, *writer, fabric.clock());
    Session session(tap, {}, fabric.clock());
    for (std::uint16_t lid = 1; lid <= 3; ++lid) ASSERT_TRUE(session.call(ask_for(lid)));
    ASSERT_TRUE(writer->flush());
  }
  // File header, then six records of 16 bytes header, 28 of packet headers, MAD, two checksums.
  EXPECT_EQ(std::filesystem::file_size(path), 24U + 6U * (16 + 28 + 256 + 6));
  std::filesystem::remove(path);
}

TEST(Trace, OneLineForEachMad) {
  ToyFabric fabric(1);
  std::vector<std::string> lines;
  TracePort tap(
      fabric, [&](const std::string& line) { lines.push_back(line); }, fabric.clock());
  TransactorOptions options;
  options.tid_seed = 0;
  Session session(tap, options, fabric.clock());
  ASSERT_TRUE(session.call(ask_for(1, attr::kPortInfo)));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "0.000000 > Get(PortInfo) to LID 1 tid 0x00040000");
  EXPECT_EQ(lines[1], "0.000017 < GetResp(PortInfo) from LID 1 tid 0x00040000 status 0x0000");
}

/// A device that holds few MADs holds few behind a tap.
TEST(Trace, TheWindowOfThePortBehindHolds) {
  struct Narrow : ToyFabric {
    using ToyFabric::ToyFabric;
    std::uint32_t window_max() const override { return 3; }
  } narrow(1);
  TracePort tap(
      narrow, [](const std::string&) {}, narrow.clock());
  EXPECT_EQ(tap.window_max(), 3U);
}

TEST(Trace, BodiesOnRequestWithoutKeys) {
  ToyFabric fabric(1);
  std::string text;
  TracePort tap(
      fabric, [&](const std::string& line) { text += line + "\n"; }, fabric.clock(), true);
  Session session(tap, {}, fabric.clock());
  Request request = ask_for(1, attr::kPortInfo);
  request.mad.set<&wire::SmpHeader::m_key>(0xDEADBEEF12345678);
  ASSERT_TRUE(session.call(std::move(request)));
  EXPECT_NE(text.find("    MgmtClass:"), std::string::npos) << text;
  EXPECT_NE(text.find("    LinkWidthActive:"), std::string::npos);
  EXPECT_EQ(text.find("deadbeef"), std::string::npos);
}

TEST(Faults, LossAndDuplicatesAreTheSameForTheSameSeed) {
  std::vector<std::uint64_t> outcome;
  for (int run = 0; run < 2; ++run) {
    ToyFabric fabric(50);
    FaultPort tap(fabric, {.loss_percent = 10, .duplicate_percent = 5}, 42, fabric.clock());
    Session session(tap, {}, fabric.clock());
    for (int round = 0; round < 10; ++round) {
      std::vector<Request> requests;
      for (std::uint16_t lid = 1; lid <= 50; ++lid) requests.push_back(ask_for(lid));
      const auto completions = session.call_all(std::move(requests));
      ASSERT_TRUE(completions);
      for (const Completion& c : *completions) EXPECT_TRUE(c.reply);
    }
    EXPECT_GT(tap.lost(), 50U);
    EXPECT_LT(tap.lost(), 200U);
    EXPECT_GT(tap.duplicated(), 20U);
    outcome.push_back(tap.lost() * 1000 + tap.duplicated());
    EXPECT_EQ(session.transactor().counters().spurious_retries, 0U);
  }
  EXPECT_EQ(outcome[0], outcome[1]);
}

TEST(Faults, DelayIsAddedEachWay) {
  ToyFabric fabric(1);
  FaultPort tap(fabric, {.delay = 20ms}, 1, fabric.clock());
  EXPECT_EQ(tap.readable_fd(), -1);
  Session session(tap, {}, fabric.clock());
  std::vector<Request> requests;
  requests.push_back(ask_for(1));
  const auto completions = session.call_all(std::move(requests));
  ASSERT_TRUE(completions);
  EXPECT_TRUE(completions->front().reply);
  EXPECT_GE(completions->front().round_trip, 40ms);
  EXPECT_LT(completions->front().round_trip, 41ms);
}

TEST(Describe, TheTargetOfAPacketWithAGrhHasAGid) {
  Address to = gsi_address(Lid{17});
  const auto mad = wire::make_mad(MgmtClass::VendorIbtracer, Method::Get, attr::kSourceRoute);
  EXPECT_EQ(describe(to, mad), "VendorIbtracer Get(SourceRoute) to LID 17");
  to.grh = Grh{.gid = Gid::from(kDefaultSubnetPrefix, Guid{0x0002C90300000001})};
  EXPECT_EQ(describe(to, mad), "VendorIbtracer Get(SourceRoute) to LID 17 GID fe80::2:c903:0:1");
}

}  // namespace
}  // namespace ib::mad
