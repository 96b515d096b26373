// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// plain_agent: answers class 0x30 on the first port, as an agent does that knows nothing of GRHs:
// its answers have none, and its ClassPortInfo promises none. Until it is ended.
#include <cstdio>

#include "agent/responder.h"
#include "agent/service.h"
#include "libdiag/mad/umad/umad_port.h"
#include "libdiag/wire/tracer_attributes.h"

namespace wire = ib::wire;

int main() {
  auto port = ib::mad::UmadPort::open({});
  if (!port || !agent::register_classes(**port)) return 4;
  const auto facts = (*port)->facts();
  if (!facts) return 4;
  agent::Responder responder(agent::ResponderOptions{"plain.example"});
  std::puts("ready");
  std::fflush(stdout);
  for (std::vector<ib::mad::Received> arrived;; arrived.clear()) {
    if (!(*port)->receive(arrived, std::chrono::seconds(1))) return 4;
    for (const auto& received : arrived) {
      if (received.timed_out) continue;
      auto reply = responder.answer(ib::monotonic_now(), {facts->port_num, true}, received.packet);
      if (!reply) continue;
      reply->address.grh.reset();
      if (reply->mad.attribute_id() == wire::attr::kClassPortInfo) {
        auto info = wire::body<wire::ClassPortInfo>(reply->mad);
        info.capability_mask &= static_cast<std::uint16_t>(~wire::kTracerMirrorsGrh);
        wire::set_body(reply->mad, info);
      }
      (void)(*port)->send(received.agent, *reply, ib::Duration{0});
    }
  }
}
