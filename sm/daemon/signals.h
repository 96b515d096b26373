// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The signals of the daemon as a descriptor to be polled.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace sm::daemon {

/// From here on SIGHUP and SIGUSR1 wait until a Signals reads them, and no longer end the process.
/// SIGTERM and SIGINT end it until there is one.
inline void hold_back_requests() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGHUP, SIGUSR1}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

/// SIGTERM and SIGINT end, SIGHUP sweeps, SIGUSR1 opens the log again. Blocked before any thread
/// starts, so that only this descriptor sees them.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&set, s);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() {
    if (fd_ >= 0) close(fd_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int fd() const { return fd_; }
  /// 0: none.
  int next() const {
    signalfd_siginfo info{};
    return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  int fd_{-1};
  sigset_t before_{};
};

}  // namespace sm::daemon
