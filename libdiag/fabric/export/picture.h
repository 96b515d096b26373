// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Picture: what of a fabric is drawn, before anything is laid out: switches in tiers, hosts
// collapsed into their leaf, parallel cables bundled, the chips of a chassis grouped and folded
// where they are alike. Pure; draw.h turns it into dot or SVG.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libdiag/fabric/fabric.h"
#include "libdiag/fabric/names.h"

namespace ib::fabric {

struct PictureOptions {
  std::string title;
  bool hosts{false};  // every host a box of its own
  /// Alike chips of a chassis (same neighbours by same numbers of cables) as one box: when the
  /// fabric has more than 64 switches, or always, or never.
  enum class Fold { Auto, Always, Never } fold{Fold::Auto};
  const NodeNames* names{nullptr};
  /// Nodes that switches say are built in behind their ports, ascending: no hosts, whatever they
  /// call themselves.
  std::vector<Guid> built_in;
  /// Whether the cable at this port runs below what both its ends can; none: judged by comparison
  /// with the other cables of its two switches.
  std::function<bool(PortRef)> degraded;
  /// Routes that leave a switch by this port. Where there is one, links are coloured by it, each by
  /// its more loaded direction, relative to `load_floor`.
  std::function<std::uint64_t(PortRef)> load;
  /// The maximum load that no routing can be below; 0: unknown, then the maximum of `load`.
  std::uint64_t load_floor{0};
};

struct Vertex {
  std::string id;      // "S-0002c9..." of its first member: stable between runs
  std::string name;    // printable
  std::string detail;  // host names, compressed: "node[0253-0270]"
  unsigned tier{};
  std::size_t chassis{};                  // index into Picture::chassis; kNoChassis
  std::vector<NodeIndex> members;         // more than one: folded
  std::vector<std::string> member_names;  // sorted
  unsigned hosts{};                       // attached to the members, what is built in excluded
  unsigned hosts_slow{};                  // of these, by degraded cables
  unsigned uplinks{}, uplinks_usual{};  // cables to higher tiers; the commonest number in the tier
  bool is_host{false};
};
inline constexpr std::size_t kNoChassis = ~std::size_t{0};

/// Parallel cables of one width and speed between two boxes; `lower` is of the lower tier.
struct Bundle {
  std::size_t lower{}, upper{};
  unsigned cables{};
  wire::LinkWidth width{};
  wire::LinkSpeed speed{};
  bool degraded{false};
  std::vector<PortRef> lower_ports;  // one per cable
  std::uint64_t load{};              // of the most loaded cable in its more loaded direction
};

struct Chassis {
  std::string name;
  Guid system_image_guid{};
  std::size_t switches{};
};

struct Picture {
  std::string title, summary;
  std::vector<Vertex> vertices;  // by tier, then name
  std::vector<Bundle> bundles;
  std::vector<Chassis> chassis;
  std::vector<std::size_t> switches_in_tier;
  /// Nearly all cables run between tiers; otherwise (torus, dragonfly) ranks would mislead.
  bool layered{true};
  std::size_t cables{};  // of the whole fabric, hosts included
  bool by_load{false};   // bundles have loads, the most loaded comes last
  std::uint64_t load_max{};
  std::uint64_t load_floor{};  // what loads are compared with; 0: no link has a load
};

/// What is to be drawn of a fabric; the same fabric and options give the same picture.
Picture make_picture(const Fabric& fabric, const PictureOptions& options = {});

/// Tier of each node: 0 the switches most hosts hang on, then by distance from those. Hosts are 0
/// too. Switches with a few stray hosts stay where their cables put them.
std::vector<unsigned> switch_tiers(const Fabric& fabric);

/// "node[0001-0018,0020],x" of names that share stems; cut with "..." near `length_max`.
std::string compress_names(std::vector<std::string> names, std::size_t length_max);

}  // namespace ib::fabric
