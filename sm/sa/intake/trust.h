// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who is believed what. A request with the SA key is trusted, one with key 0 is not, one with any
// other key is not answered. Pure.
#pragma once

#include <cstdint>

#include "libdiag/mad/transport.h"

namespace sm::sa {

struct World;

/// The key that everybody knows: the default of every SA in the field.
inline constexpr std::uint64_t kKnownSaKey = 1;

struct TrustOptions {
  std::uint64_t sa_key{kKnownSaKey};
  /// The key was made by us (`sa_key auto`): clients that send the known one, as most do without
  /// being told to, are untrusted, not wrong.
  bool sa_key_is_secret{false};
  /// The vendor's enhanced trust model: what is not in its list of requests open to everybody is
  /// denied to untrusted requesters. Off by default, as there.
  bool enhanced{false};
  bool untrusted_guid_info{false};  // ... which GUIDInfoRecord Set and Delete may join
  bool untrusted_proxies{true};     // ... and joins by proxy may leave
  /// A request with a GRH must come from the port whose GID it has.
  bool check_source_gid{true};
};

enum class Trust { Wrong, Untrusted, Trusted };

Trust trust_of(std::uint64_t key, const TrustOptions& options);

/// Whether the enhanced trust model lets an untrusted requester ask this at all.
bool is_open_to_all(const ib::wire::Mad& request, const TrustOptions& options);

/// The GRH claims the GID, or an alias, of a port that does not have the source LID. Routers
/// forward for others, and a GID that no port has is no claim.
bool bears_another_gid(const World& world, const ib::mad::Packet& request);

}  // namespace sm::sa
