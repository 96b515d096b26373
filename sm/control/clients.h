// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Clients: those who have connected to a listening socket and say lines. Nobody is waited for, and
// nobody who is slow, silent or wrong keeps others out: in one turn each is heard for a line at
// most, and who has not read what he was told is not heard until he has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "libdiag/base/result.h"
#include "sm/control/descriptor.h"

namespace sm::control {

using ClientId = std::uint64_t;  // never given twice

struct Reply {
  std::string text;
  bool ends{false};  // the connection goes when the text is read
};

/// Who answers.
class Listener {
 public:
  Listener() = default;
  virtual ~Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Whether to serve who is at the other end of `fd`.
  virtual bool admits(int fd) = 0;
  /// What a client is told at once.
  virtual std::string greeting(ClientId) { return {}; }
  virtual Reply on_line(ClientId client, std::string_view line) = 0;
  /// What somebody is told whose line is too long, before he goes.
  virtual std::string too_long() const = 0;
  virtual void on_gone(ClientId) {}
};

class Clients {
 public:
  /// `listening` is a socket that listens. `line_most`: bytes of a line.
  static ib::Result<Clients> at(Descriptor listening, std::size_t line_most);
  Clients(Clients&&) noexcept;
  Clients& operator=(Clients&&) noexcept;
  ~Clients();

  /// Readable when serve() has something to do.
  int readable_fd() const;
  /// One turn.
  void serve(Listener& listener);
  /// Told unasked. False: it is gone, or has not read what it was told before.
  bool tell(ClientId client, std::string_view text, Listener& listener);

  static constexpr std::size_t kMost = 16;  // one that never said a line goes first, or else
                                            // the one that was silent longest

 private:
  struct Impl;
  explicit Clients(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sm::control
