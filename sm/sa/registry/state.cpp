// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/state.h"

#include <algorithm>

#include "sm/sa/subnet/paths.h"

namespace sm::sa {
namespace {

/// A kind that ends by itself.
template <class Kind>
concept Ends = requires(const Kind& kind) { kind.next_expiry(); };

}  // namespace

void State::apply(const store::Batch& batch) {
  std::apply([&](auto&... kind) { (kind.apply(batch), ...); }, kinds());
}

store::Contents State::contents() const {
  store::Contents all;
  std::apply([&](const auto&... kind) { (kind.add_to(all), ...); }, kinds());
  return all;
}

std::int64_t State::next_expiry() const {
  std::int64_t next = store::Service::kNeverExpires;
  const auto visit = [&](const auto& kind) {
    if constexpr (Ends<decltype(kind)>) next = std::min(next, kind.next_expiry());
  };
  std::apply([&](const auto&... kind) { (visit(kind), ...); }, kinds());
  return next;
}

void State::expire(std::int64_t unix_seconds, std::size_t max, store::Batch& batch,
                   std::vector<std::string>& log) const {
  const auto end = [&](const auto& kind) {
    if constexpr (Ends<decltype(kind)>) kind.expire(unix_seconds, max, batch, log);
  };
  std::apply([&](const auto&... kind) { (end(kind), ...); }, kinds());
}

std::vector<MlidMembers> State::by_mlid(const Paths* paths) const {
  return multicast.by_mlid([&](ib::Guid guid) {
    if (const auto port = aliases.port_of(guid); port.value != 0) return port;
    const auto* vport = paths != nullptr ? paths->find_virtual(guid) : nullptr;
    return vport == nullptr ? guid : paths->snapshot().fabric().port(vport->port).guid;
  });
}

}  // namespace sm::sa
