// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Writes MADs as a capture file for wireshark and its kin: each packet with the headers it would
// have on the wire: LRH, GRH if any, BTH, DETH, MAD, ICRC, VCRC. The two checksums are zero: nobody
// computed them, and readers do not check them.
//
// The link type is 247 (LINKTYPE_INFINIBAND), which is what the registry has for such packets, but
// wireshark 4.0 (Debian 12) cannot open it: it knows InfiniBand only inside of ERF records. So a
// file whose name ends in ".erf.pcap" or ".erf" gets link type 197 (LINKTYPE_ERF), the same packets
// behind an ERF header of 16 bytes each, which every wireshark since 1.2 opens.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "libdiag/mad/transport.h"

namespace ib::mad {

class PcapWriter {
 public:
  /// Creates `path` or empties it. Times in the file are the Instants given to write() plus
  /// `epoch`; with the monotonic clock that is wall_clock_offset(), with virtual time 0.
  static Result<PcapWriter> open(const std::string& path, Duration epoch = Duration{0});

  /// One MAD from `slid` to `dlid`, by QP0 (smi) or QP1. packet.address names the other side only
  /// in its SL, Q_Key and GRH here; of an RMPP message the first segment is written.
  void write(Instant at, Lid slid, Lid dlid, bool smi, const Packet& packet);

  /// What was written is in the file; the error, if writing has failed since open().
  Result<void> flush();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  PcapWriter(std::string path, std::FILE* file, Duration epoch, bool erf)
      : path_(std::move(path)), file_(file), epoch_(epoch), erf_(erf) {}

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  Duration epoch_;
  bool erf_;
};

/// What makes an Instant of the monotonic clock a time of day since 1970.
Duration wall_clock_offset();

}  // namespace ib::mad
