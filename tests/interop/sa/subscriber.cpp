// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A client of the SA that no stock tool is:
//   subscriber listen FILE WORDS TRAP...   subscribes, writes each Report to FILE, one a line
//        WORDS: any (any type and producer) | trusted (any, with the SA key 1) | srp (as srp_daemon
//        asks) | deaf (any, never answers)
//   subscriber trap NUMBER...              sends these as traps of its own port
//   subscriber service set|delete GID ID [LEASE]
//   subscriber alias set|delete INDEX GUID
// listen writes "ready" once all its subscriptions stand, and "again" when it did so once more for
// SIGHUP (a client that was told to register again). Others print a status.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/wire/gmp_attributes.h"
#include "tests/interop/sa/local_sa.h"

namespace {

using ib::wire::Mad;
using ib::wire::MadHeader;
using ib::wire::Method;
using probe::complain;

constexpr std::uint64_t kSrpMask = 2 | 16 | 32 | 64 | 128 | 4096;
constexpr auto kPatience = std::chrono::seconds(2);

volatile std::sig_atomic_t asked_again = 0;

void say(int file, const std::string& line) {
  if (write(file, (line + "\n").data(), line.size() + 1) < 0) std::exit(3);
}

/// What srp_daemon sends, byte for byte, but for the transaction ID.
Mad subscription(std::string_view words, std::uint16_t trap, std::uint32_t tid) {
  auto mad =
      ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, Method::Set, ib::wire::attr::kInformInfo);
  mad.set<&MadHeader::tid>(ib::Tid{tid});
  ib::wire::InformInfo info;
  info.lid_range_begin = ib::Lid{0xFFFF};
  info.is_generic = info.subscribe = 1;
  info.type = words == "srp" ? 3 : 0xFFFF;
  info.trap_number = trap;
  info.producer_type = words == "srp" ? 4 : 0xFFFFFF;
  ib::wire::set_body(mad, info);
  mad.set<&ib::wire::SaHeader::component_mask>(words == "srp" ? kSrpMask : 0);
  mad.set<&ib::wire::SaHeader::sm_key>(std::uint64_t{words == "trusted" ? 1U : 0U});
  return mad;
}

std::string describe(const Mad& mad) {
  const auto notice = ib::wire::body<ib::wire::Notice>(mad);
  std::string text = fmt::format("report {} type {} producer {} from {}", notice.trap_number,
                                 notice.type, notice.producer_type, notice.issuer_lid.value);
  if (notice.trap_number >= 64 && notice.trap_number <= 67) {
    ib::Gid gid;
    std::copy_n(notice.details.begin() + 6, gid.bytes.size(), gid.bytes.begin());
    text += " " + to_string(gid);
  }
  return text;
}

int listen(const char* path, std::string_view words, const std::vector<std::uint16_t>& traps) {
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0) return 2;
  std::signal(SIGHUP, [](int) { asked_again = 1; });
  const auto local = probe::find_local_sa();
  if (!local) return complain(local.error());
  auto& port = *local->port;
  ib::mad::AgentSpec spec;
  spec.mgmt_class = ib::wire::MgmtClass::SubnAdm;
  spec.class_version = 2;
  spec.methods = {Method::Report};
  const auto agent = port.register_agent(spec);
  if (!agent) return complain(agent.error());
  std::uint32_t tid = 0xFFFF;
  std::size_t standing = 0;
  const auto ask = [&] {
    standing = 0;
    for (const auto trap : traps)
      (void)port.send(
          *agent, {ib::mad::gsi_address(local->facts.sm_lid), subscription(words, trap, tid++), {}},
          kPatience);
  };
  ask();
  const char* word = "ready";
  while (true) {
    std::vector<ib::mad::Received> arrived;
    if (auto got = port.receive(arrived, std::chrono::milliseconds(50)); !got)
      return complain(got.error());
    for (auto& r : arrived) {
      if (r.timed_out) {
        say(file, "no answer");
      } else if (r.packet.mad.method() == Method::GetResp) {
        if (const auto status = r.packet.mad.status(); status != 0)
          say(file, fmt::format("refused 0x{:04x}", status));
        else if (++standing == traps.size())
          say(file, word);
      } else if (r.packet.mad.method() == Method::Report) {
        say(file, describe(r.packet.mad));
        if (words == "deaf") continue;
        r.packet.mad.set<&MadHeader::method>(Method::ReportResp);
        (void)port.send(*agent, r.packet, ib::Duration{0});
      }
    }
    if (asked_again != 0) {
      asked_again = 0;
      word = "again";
      ask();
    }
  }
}

/// What a device says of itself: the LID stands first in the details of trap 128, and behind two
/// bytes in those of the others.
int send_traps(const std::vector<std::string>& numbers) {
  const auto local = probe::find_local_sa();
  if (!local) return complain(local.error());
  ib::mad::AgentSpec spec;
  spec.mgmt_class = ib::wire::MgmtClass::SubnLid;
  spec.class_version = 1;
  const auto agent = local->port->register_agent(spec);
  if (!agent) return complain(agent.error());
  ib::mad::Address manager;
  manager.lid = local->facts.sm_lid;
  std::uint32_t tid = 0x7000;
  for (const auto& number : numbers) {
    ib::wire::Notice notice;
    notice.trap_number = static_cast<std::uint16_t>(std::stoul(number));
    notice.type = notice.trap_number >= ib::wire::trap::kBadMKey ? 2 : 1;
    notice.producer_type = 1;
    notice.issuer_lid = local->facts.lid;
    const std::size_t at = notice.trap_number == ib::wire::trap::kLinkStateChange ? 0 : 2;
    notice.details[at] = static_cast<std::uint8_t>(local->facts.lid.value >> 8);
    notice.details[at + 1] = static_cast<std::uint8_t>(local->facts.lid.value);
    auto mad =
        ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, Method::Trap, ib::wire::attr::kNotice);
    mad.set<&MadHeader::tid>(ib::Tid{++tid});
    ib::wire::set_body(mad, notice);
    if (auto sent = local->port->send(*agent, {manager, mad, {}}, ib::Duration{0}); !sent)
      return complain(sent.error());
  }
  return 0;
}

template <class Record>
int show(const ib::Result<Record>& answer, const std::string& text) {
  if (!answer) return complain(answer.error());
  fmt::print("{}\n", text);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> w(argv + 1, argv + argc);
  if (w.size() >= 4 && w[0] == "listen") {
    std::vector<std::uint16_t> traps;
    for (std::size_t i = 3; i < w.size(); ++i)
      traps.push_back(static_cast<std::uint16_t>(std::stoul(w[i])));
    return listen(w[1].c_str(), w[2], traps);
  }
  if (w.size() >= 2 && w[0] == "trap") return send_traps({w.begin() + 1, w.end()});
  if (w.size() < 4) return 2;
  const auto local = probe::find_local_sa();
  if (!local) return complain(local.error());
  ib::mad::Session session(*local->port, {});
  ib::query::SaClient sa(session, local->address);
  const bool set = w[1] == "set";
  if (w[0] == "service") {
    ib::wire::ServiceRecord record;
    if (w[2] == "own")
      record.service_gid = local->gid();
    else if (!ib::parse_gid(w[2], record.service_gid))
      return 2;
    record.service_id = std::stoull(w[3], nullptr, 0);
    record.service_p_key = ib::kDefaultPKey;
    record.lease = w.size() > 4 ? static_cast<std::uint32_t>(std::stoul(w[4])) : 0xFFFFFFFF;
    const std::string name = "probe." + w[3];
    std::copy(name.begin(), name.end(), record.name.begin());
    const auto answer = set ? sa.set(record, 0x57) : sa.remove(record, 0x7);
    return show(answer, "ok");
  }
  ib::wire::GuidInfoRecord record;
  record.lid = local->facts.lid;
  const auto index = std::stoul(w[2]);
  record.block = static_cast<std::uint8_t>(index / 8);
  record.guid_info.guid[index % 8] = ib::Guid{std::stoull(w[3], nullptr, 0)};
  const auto mask = std::uint64_t{3} | std::uint64_t{1} << (4 + index % 8);
  const auto answer = set ? sa.set(record, mask) : sa.remove(record, mask);
  return show(answer, answer ? to_string(answer->guid_info.guid[index % 8]) : std::string());
}
