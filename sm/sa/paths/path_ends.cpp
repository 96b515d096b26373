// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths/path_ends.h"

#include "libdiag/wire/mad.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Lid;
namespace status = ib::wire::status;

/// Adds what the LID says; the end may be known by GID already.
FoundEnd with_lid(const World& world, PathEnd end, const std::optional<Lid>& lid) {
  if (!lid) return end;
  const auto* owner = world.paths->find(*lid);
  if (owner == nullptr) return std::uint16_t{0};
  // A virtual port has the LIDs of the port that it is behind.
  if (end.port != nullptr && end.port->port != owner->port) return status::kSaReqInvalid;
  if (end.port == nullptr) end.port = owner;
  end.offset = static_cast<std::uint8_t>(lid->value - owner->lid.value);
  return end;
}

FoundEnd find_here(const World& world, const NamedEnd& named) {
  PathEnd end;
  if (named.gid) {
    end.port = world.holder(named.gid->guid());
    if (end.port == nullptr) return std::uint16_t{0};
    end.asked_gid = named.gid;
  }
  return with_lid(world, end, named.lid);
}

const EndPort* find_router(const World& world, std::uint64_t prefix, const NamedEnd& named,
                           const PathEnd& source) {
  const Paths& paths = *world.paths;
  const auto is_available = [&](const EndPort& router) {
    if (paths.snapshot().fabric().port(router.port).state == ib::wire::PortState::Down)
      return false;
    if (named.lid && !router.owns(*named.lid)) return false;
    return source.port == nullptr || paths.between(*source.port, router, router.lid).has_value();
  };
  for (const PrefixRoute& route : world.policy.prefix_routes) {
    if (route.prefix && *route.prefix != prefix) continue;
    if (route.router) {
      const auto* router = paths.find(*route.router);
      if (router != nullptr && is_available(*router)) return router;
      continue;
    }
    for (const auto index : paths.routers())
      if (is_available(paths.end_ports()[index])) return &paths.end_ports()[index];
  }
  return nullptr;
}

}  // namespace

FoundEnd find_source(const World& world, const NamedEnd& named) {
  if (named.gid && !world.is_own_prefix(named.gid->prefix())) return status::kSaInvalidGid;
  return find_here(world, named);
}

FoundEnd find_destination(const World& world, const NamedEnd& named, const PathEnd& source) {
  if (!named.gid || world.is_own_prefix(named.gid->prefix())) return find_here(world, named);
  PathEnd end;
  end.port = find_router(world, named.gid->prefix(), named, source);
  if (end.port == nullptr) return status::kSaInvalidGid;
  end.asked_gid = named.gid;
  end.is_router = true;
  return with_lid(world, end, named.lid);
}

EndWalk::EndWalk(const PathEnd& end, const Paths& paths, const Aliases::Map& aliases)
    : end_(end), paths_(&paths), aliases_(&aliases), prefix_(paths.snapshot().subnet_prefix) {
  restart();
}

void EndWalk::restart() { enter(0); }

void EndWalk::enter(std::size_t index) {
  index_ = index;
  alias_.reset();
  if (end_.port != nullptr) {
    port_ = index == 0 ? end_.port : nullptr;
  } else {
    port_ = index < paths_->end_ports().size() ? &paths_->end_ports()[index] : nullptr;
  }
  if (port_ != nullptr) gid_ = end_.asked_gid ? *end_.asked_gid : Gid::from(prefix_, port_->guid);
}

void EndWalk::next() {
  if (!end_.asked_gid && !aliases_->empty()) {
    const auto alias = alias_ ? aliases_->upper_bound(*alias_)
                              : aliases_->lower_bound({port_->guid, std::uint16_t{0}});
    if (alias != aliases_->end() && alias->first.first == port_->guid) {
      alias_ = alias->first;
      gid_ = Gid::from(prefix_, alias->second);
      return;
    }
  }
  enter(index_ + 1);
}

}  // namespace sm::sa
