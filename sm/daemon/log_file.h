// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LogFile: where log events become lines; any thread may write. What other hosts cause by their
// packets goes through a LogLimiter. (spdlog is behind log_file.cpp.)
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/base/result.h"

namespace sm::daemon {

inline constexpr const char* kDefaultLogFile = "/var/log/ibsm.log";

struct LogShape {
  std::size_t max_size{0};  // bytes at which the file is emptied and begun again; 0: never
  std::string prefix;       // of what a line says
};

class LogFile {
 public:
  /// `path` may be "stdout" or "stderr". Empty: /var/log/ibsm.log, or, where that cannot be
  /// written, stderr with errors and warnings only. Folders are not made: an error of kind Usage
  /// names one that is missing.
  using Clock = std::function<ib::Instant()>;
  static ib::Result<LogFile> open(const std::string& path, unsigned flags, bool flush_each,
                                  Clock clock = ib::monotonic_now, const LogShape& shape = {});
  LogFile(LogFile&&) noexcept;
  LogFile& operator=(LogFile&&) noexcept;
  ~LogFile();

  /// Is told what matters to who administers the host: errors, and what write_always() writes.
  using Major = std::function<void(ib::LogLevel, const std::string& line)>;
  void tell_major(Major major);

  void write(const ib::LogEvent& event);
  /// Says what was left out, when it is time. A thread whose events have causes calls it by
  /// next_deadline().
  void on_time(ib::Instant now);
  ib::Instant next_deadline() const;
  /// A line of the flag kLogFrames.
  void write_frame(const std::string& line);
  bool writes_frames() const;
  unsigned flags() const;
  /// From now on, on all threads.
  void set_flags(unsigned flags);
  /// Every line at once, or all but those of -V and of frames.
  void set_flush(bool each_line);
  /// A promise to scripts: logged whatever the flags, and flushed.
  void write_always(const std::string& line);
  /// Says what was left out, and writes all to disk: nothing may come after this.
  void finish();
  /// Neither stdout nor stderr.
  bool is_file() const;
  /// Opens the file by its name again, after it was moved away; a failure leaves the one that is
  /// open. Nothing to do where the log is no file.
  ib::Result<void> reopen();

 private:
  struct Impl;
  explicit LogFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sm::daemon
