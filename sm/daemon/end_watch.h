// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// EndWatch: ends the program when it is told to end while its main thread computes. The main thread
// takes its signals itself and ends in the ordinary way; but in a long step of the machine (routes
// of a large fabric, their proof) it would take them only afterwards. A step touches nothing but
// the machine, so another thread may close everything else meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "sm/daemon/wake.h"

namespace sm::daemon {

class EndWatch {
 public:
  /// `signal_fd` is readable while a signal to end waits to be taken; it is not read here. When
  /// none has taken it after `patience` and the main thread is in a step, `end` is called on a
  /// thread of its own, and should not return.
  EndWatch(int signal_fd, std::chrono::milliseconds patience, std::function<void()> end);
  ~EndWatch();
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;

  /// For as long as it lives the main thread touches nothing but the machine.
  class Step {
   public:
    explicit Step(EndWatch& watch) : watch_(watch) { watch_.world_.unlock(); }
    ~Step() { watch_.world_.lock(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    EndWatch& watch_;
  };

 private:
  void run();

  const int signal_fd_;
  const std::chrono::milliseconds patience_;
  const std::function<void()> end_;
  std::mutex world_;  // all but the machine: the main thread's, except in its steps
  Wake ending_;
  std::thread thread_;
};

}  // namespace sm::daemon
