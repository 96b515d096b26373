// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/channel.h"

#include "sm/sa/reports/reports.h"

namespace sm::daemon {
namespace {

using ib::mad::AgentSpec;
using ib::mad::UmadPort;
using ib::wire::Method;
using ib::wire::MgmtClass;

ib::Result<Channel> open_channel(const ib::mad::PortChoice& choice) {
  auto port = UmadPort::open(choice, UmadPort::Receiving::EventLoop);
  if (!port) return tl::unexpected<ib::Error>(std::move(port.error()));
  Channel channel;
  channel.port = *std::move(port);
  return channel;
}

void register_reporters(Channel& gsi) {
  AgentSpec client;
  client.mgmt_class = MgmtClass::SubnAdm;
  client.class_version = 2;
  for (std::size_t i = 0; i < sa::kReportAgents; ++i)
    if (auto agent = gsi.port->register_agent(client)) gsi.reporters.push_back(*agent);
}

}  // namespace

ib::Result<Channel> open_smi(const ib::mad::PortChoice& choice) {
  auto smi = open_channel(choice);
  if (!smi) return smi;
  AgentSpec smp;
  smp.mgmt_class = MgmtClass::SubnLid;
  smp.methods = {Method::Get, Method::Set, Method::Trap, Method::TrapRepress};
  if (auto ok = smi->serve(smp); !ok) return tl::unexpected<ib::Error>(std::move(ok.error()));
  smp.mgmt_class = MgmtClass::SubnDirected;
  smp.methods = {Method::Get, Method::Set};
  if (auto ok = smi->serve(smp); !ok) return tl::unexpected<ib::Error>(std::move(ok.error()));
  return smi;
}

ib::Result<SaChannel> open_gsi(const ib::mad::PortChoice& choice) {
  auto opened = open_channel(choice);
  if (!opened) return tl::unexpected<ib::Error>(std::move(opened.error()));
  SaChannel gsi{*std::move(opened)};
  AgentSpec sa;
  sa.mgmt_class = MgmtClass::SubnAdm;
  sa.class_version = 2;
  // All request methods of the class: what the SA does not do it answers with a status.
  sa.methods = {Method::Get,      Method::Set,           Method::Report,  Method::Delete,
                Method::GetTable, Method::GetTraceTable, Method::GetMulti};
  sa.rmpp = AgentSpec::Rmpp::User;
  if (gsi.channel.serve(sa)) {
    register_reporters(gsi.channel);
    return gsi;
  }
  gsi.kernel_rmpp = true;
  sa.rmpp = AgentSpec::Rmpp::Kernel;
  if (auto ok = gsi.channel.serve(sa); !ok) return tl::unexpected<ib::Error>(std::move(ok.error()));
  return gsi;
}

}  // namespace sm::daemon
