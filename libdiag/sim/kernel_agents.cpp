// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <cassert>
#include <iterator>

#include "libdiag/sim/kernel_impl.h"

namespace ib::sim {
namespace {

namespace rmpp = mad::rmpp;
using wire::MadHeader;
using wire::Method;
using wire::MgmtClass;

constexpr std::uint8_t kVersionsMax = 8;        // MAX_MGMT_VERSION
constexpr std::uint8_t kClassesMax = 80;        // MAX_MGMT_CLASS
constexpr std::size_t kOuisPerClass = 8;        // MAX_MGMT_OUI
constexpr std::uint32_t kClientMax = 1U << 24;  // agents count through 24 bits of TID

rmpp::ReceiverOptions receiver_options() {
  rmpp::ReceiverOptions options;
  options.as_kernel = true;
  return options;
}

}  // namespace

bool HostKernel::Impl::is_valid(const Registration& r) const {
  if (r.qpn > 1 || r.rmpp_version > 1 || r.oui > 0xFFFFFF) return false;
  if (r.mgmt_class == 0) return true;
  const auto c = static_cast<MgmtClass>(r.mgmt_class);
  if (r.class_version >= kVersionsMax) return false;
  if (r.mgmt_class >= kClassesMax && c != MgmtClass::SubnDirected) return false;
  if (wire::is_vendor_range2(c) && r.oui == 0) return false;
  if (r.rmpp_version != 0 && !has_rmpp(c)) return false;
  return wire::is_smp(c) == (r.qpn == 0);
}

std::size_t HostKernel::Impl::ouis_in_use(const Slot& slot) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      methods, [&](const auto& m) { return (m.first & 0xFFFF) == (slot.key() & 0xFFFF); }));
}

File& HostKernel::Impl::file_at(FileId id) const {
  assert(id < files.size() && files[id]);
  return *files[id];
}

std::int32_t HostKernel::Impl::add_agent(File& file, const Registration& r) {
  const auto free = std::ranges::find(file.agents, nullptr);
  if (r.qpn > 1) return -kEinval;
  if (free == file.agents.end()) return -kEnomem;
  if (!is_valid(r)) return -kEinval;

  std::array<Agent*, 128>* table = nullptr;
  const auto wanted = [&](std::size_t m) { return (r.method_mask[m / 64] >> (m % 64) & 1U) != 0; };
  if (r.mgmt_class != 0) {
    const Slot slot{r.class_version, r.mgmt_class,
                    wire::is_vendor_range2(static_cast<MgmtClass>(r.mgmt_class)) ? r.oui : 0};
    if (const auto found = methods.find(slot.key()); found != methods.end()) {
      table = &found->second;
      for (std::size_t m = 0; m < 128; ++m) {
        if (wanted(m) && (*table)[m] != nullptr) return -kEinval;
      }
    } else {
      if (slot.oui != 0 && ouis_in_use(slot) >= kOuisPerClass) return -kEinval;
      table = &methods[slot.key()];
    }
  }
  const ClientId client = take_client();
  Agent& agent = clients[client];
  agent.file = &file;
  agent.number = static_cast<std::int32_t>(free - file.agents.begin());
  agent.client = client;
  agent.spec = r;
  *free = &agent;
  for (std::size_t m = 0; table != nullptr && m < 128; ++m) {
    if (wanted(m)) (*table)[m] = &agent;
  }
  if (agent.kernel_rmpp()) {
    agent.receiver = std::make_unique<rmpp::Receiver>(receiver_options());
    receiving.push_back(&agent);
  }
  return agent.number;
}

ClientId HostKernel::Impl::take_client() {
  while (clients.contains(next_client)) next_client = next_client % (kClientMax - 1) + 1;
  const ClientId taken = next_client;
  next_client = next_client % (kClientMax - 1) + 1;
  return taken;
}

void HostKernel::Impl::remove_agent(Agent& agent) {
  congestion.forget([&](RequestId id) { return requests.at(id).agent == &agent; });
  requests.erase_if([&](const Request& r) {
    if (r.agent != &agent) return false;
    if (r.congested && !r.waits) congestion.finished();
    return true;
  });
  last_table = nullptr;
  recent_clients.fill(nullptr);
  for (auto m = methods.begin(); m != methods.end();) {
    std::ranges::replace(m->second, &agent, nullptr);
    const bool empty = std::ranges::all_of(m->second, [](const Agent* a) { return a == nullptr; });
    m = empty ? methods.erase(m) : std::next(m);
  }
  std::erase(receiving, &agent);
  clients.erase(agent.client);
}

}  // namespace ib::sim
