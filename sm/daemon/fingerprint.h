// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Fingerprint: checksums of what a subnet manager makes of its subnet: options that are not its
// host's alone, and the operator's files that they name, by what these say. Two whose fingerprints
// are the same configure a subnet alike. And the text by which managers tell each other theirs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/wire/smp_attributes.h"
#include "sm/config/configuration.h"
#include "sm/daemon/last_good.h"

namespace sm::daemon {

/// By key of the options file, or name of a file: "routing_engine", "partitions.conf".
using Fingerprint = std::map<std::string, std::uint64_t>;

/// `files`: those that are in force and may be at a default path.
Fingerprint fingerprint_of(const config::Configuration& configuration,
                           std::span<const GoodFile> files);

/// What differs, by name.
std::vector<std::string> differences(const Fingerprint& a, const Fingerprint& b);

/// What one says of itself on the board.
struct Notice {
  std::string host;
  ib::wire::SmState state{};
  std::uint64_t turn{};  // another one each time
  Fingerprint fingerprint;
  bool behind{false};  // it answers clients what is not in the store yet
  friend bool operator==(const Notice&, const Notice&) = default;
};

///   ibkit-manager=1 host=head1 state=3 turn=17       and behind=1 where it is
///   routing_engine 0123456789abcdef
std::string text_of(const Notice& notice);
/// Malformed: it is none. Unavailable: a newer release wrote it.
ib::Result<Notice> read_notice(std::string_view text);

}  // namespace sm::daemon
