// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What every probe of subnet administration begins with: the local port, what it says of itself,
// and where its subnet administration is.
#pragma once

#include <fmt/format.h>

#include <memory>

#include "libdiag/mad/umad/umad_port.h"
#include "libdiag/query/sa_client.h"

namespace probe {

struct LocalSa {
  std::unique_ptr<ib::mad::UmadPort> port;
  ib::mad::PortFacts facts;
  ib::query::SaAddress address;

  ib::Gid gid() const { return ib::Gid::from(facts.gid_prefix, facts.port_guid); }
};

inline ib::Result<LocalSa> find_local_sa() {
  auto port = ib::mad::UmadPort::open();
  if (!port) return tl::unexpected<ib::Error>(std::move(port.error()));
  auto facts = (*port)->facts();
  if (!facts) return tl::unexpected<ib::Error>(std::move(facts.error()));
  auto address = ib::query::sa_address(*facts);
  if (!address) return tl::unexpected<ib::Error>(std::move(address.error()));
  return LocalSa{*std::move(port), *std::move(facts), *std::move(address)};
}

/// The status of a probe that was refused.
inline int complain(const ib::Error& error) {
  fmt::print("{}\n", error.message);
  return 1;
}

}  // namespace probe
