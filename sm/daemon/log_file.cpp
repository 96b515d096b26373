// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/log_file.h"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>

#include "libdiag/base/log_limiter.h"
#include "sm/daemon/line_file.h"
#include "sm/daemon/options.h"

namespace sm::daemon {
namespace {
/// spdlog's words for a line.
std::string pattern(std::string_view prefix) {
  std::string out = "%Y-%m-%d %H:%M:%S.%e %^%L%$ ";
  for (const char c : prefix) out += c == '%' ? std::string("%%") : std::string(1, c);
  return out + "%v";
}

/// What somebody reads: lines that he does not read are lost, and that is said when he goes on.
class StreamSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// Before it is a sink.
  LineFile& file() { return file_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!has_room()) {
      ++lost_;
      return;
    }
    if (lost_ > 0)
      write({message.time,
             {},
             message.logger_name,
             spdlog::level::warn,
             fmt::format("log: {} lines are missing here: nobody read them",
                         std::exchange(lost_, 0))});
    write(message);
  }
  void flush_() override {}

  /// Who is slow gets time, once he has stopped none until he goes on.
  bool has_room() {
    constexpr std::chrono::milliseconds kPatience{100};
    reads_ = file_.await_room(reads_ ? kPatience : std::chrono::milliseconds{0});
    return reads_;
  }
  void write(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string text = fmt::to_string(line);
    if (text.ends_with('\n')) text.pop_back();
    if (!file_.write(std::move(text))) ++lost_;
  }

  LineFile file_;
  bool reads_{true};
  std::size_t lost_{0};
};

spdlog::sink_ptr stream_sink(int descriptor) {
  auto sink = std::make_shared<StreamSink>();
  sink->file().open_as(descriptor);
  return sink;
}

/// spdlog makes whatever folders are missing; a name that was mistyped would be one of them.
ib::Result<spdlog::sink_ptr> open_file(const std::string& path, std::size_t max_size) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code unknown;  // a folder that may not be looked into is the file's own trouble
  const auto found = std::filesystem::status(folder.empty() ? "." : folder, unknown).type();
  if (found == std::filesystem::file_type::not_found)
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("cannot log to {}: there is no folder {}; make it first, or name "
                                "another file (--log_file)",
                                path, folder.string()));
  const auto found_there = std::filesystem::status(path, unknown).type();
  // Its reader may stop, and with it the subnet manager. What /dev/stdout is, is meant.
  if (found_there == std::filesystem::file_type::fifo && !path.starts_with("/dev/"))
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("cannot log to {}: it is a pipe, and its reader would hold up the "
                                "subnet manager; name a file (--log_file)",
                                path));
  if (found_there == std::filesystem::file_type::fifo ||
      found_there == std::filesystem::file_type::character) {
    auto sink = std::make_shared<StreamSink>();
    if (auto opened = sink->file().open("the log", path); !opened)
      return ib::fail(ib::ErrorKind::Io,
                      opened.error().message + "; name another file (--log_file)");
    return sink;
  }
  try {
    // With no files to rotate to, the current one is emptied and begun again.
    if (max_size != 0)
      return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, max_size, 0);
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  } catch (const spdlog::spdlog_ex& e) {
    // "Failed opening file F for writing: REASON"
    const std::string text = e.what();
    return ib::fail(ib::ErrorKind::Io,
                    fmt::format("cannot log to {}: {}; name another file (--log_file)", path,
                                text.substr(text.rfind(": ") + 2)));
  }
}
}  // namespace

struct LogFile::Impl {
  std::shared_ptr<spdlog::sinks::dist_sink_mt> out;  // holds one, which reopen() replaces
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<unsigned> flags;
  std::string path;  // empty: not a file
  LogShape shape;
  Clock clock;
  std::mutex mutex;  // of the limiter
  ib::LogLimiter limiter;
  Major major{[](ib::LogLevel, const std::string&) {}};

  bool admit(const ib::LogEvent& event) {
    if (!event.cause) return true;
    const std::lock_guard lock(mutex);
    return limiter.admit(clock(), event);
  }
  void write(const ib::LogEvent& event);
};

namespace {
struct Level {
  unsigned needed;  // among the flags
  spdlog::level::level_enum level;
};
Level level_of(const ib::LogEvent& event) {
  switch (event.level) {
    case ib::LogLevel::Error:
      return {kLogErrors, spdlog::level::err};
    case ib::LogLevel::Warning:
      return {kLogErrors, spdlog::level::warn};
    case ib::LogLevel::Verbose:
      return {kLogVerbose, spdlog::level::debug};
    case ib::LogLevel::Debug:
      return {kLogDebug, spdlog::level::trace};
    default:
      return {kLogInfo, spdlog::level::info};
  }
}
}  // namespace

LogFile::LogFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogFile::LogFile(LogFile&&) noexcept = default;
LogFile& LogFile::operator=(LogFile&&) noexcept = default;
LogFile::~LogFile() = default;
bool LogFile::is_file() const { return !impl_->path.empty(); }

ib::Result<LogFile> LogFile::open(const std::string& path, unsigned flags, bool flush_each,
                                  Clock clock, const LogShape& shape) {
  auto impl = std::make_unique<Impl>();
  impl->flags = flags;
  impl->clock = std::move(clock);
  impl->shape = shape;
  spdlog::sink_ptr sink;
  if (path == "stdout" || path == "/dev/stdout") {
    sink = stream_sink(STDOUT_FILENO);
  } else if (path == "stderr" || path == "/dev/stderr") {
    sink = stream_sink(STDERR_FILENO);
  } else {
    impl->path = path.empty() ? kDefaultLogFile : path;
    auto file = open_file(impl->path, shape.max_size);
    if (file) {
      sink = *std::move(file);
    } else if (!path.empty()) {
      return tl::unexpected(file.error());
    } else {
      sink = stream_sink(STDERR_FILENO);
      impl->flags = flags & kLogErrors;
      impl->path.clear();
    }
  }
  impl->out = std::make_shared<spdlog::sinks::dist_sink_mt>(std::vector{std::move(sink)});
  impl->logger = std::make_shared<spdlog::logger>("ibsm", impl->out);
  impl->logger->set_pattern(pattern(shape.prefix));
  impl->logger->set_level(spdlog::level::trace);
  LogFile log(std::move(impl));
  log.set_flush(flush_each);
  return log;
}

void LogFile::Impl::write(const ib::LogEvent& event) {
  logger->log(level_of(event).level, "{}: {}", event.topic, event.message);
  if (event.level == ib::LogLevel::Error) major(event.level, event.topic + ": " + event.message);
}

void LogFile::tell_major(Major major) { impl_->major = std::move(major); }

void LogFile::write(const ib::LogEvent& event) {
  // What the flags leave out is nobody's allowance and in no summary.
  if ((impl_->flags & level_of(event).needed) != 0 && impl_->admit(event)) impl_->write(event);
}

void LogFile::on_time(ib::Instant now) {
  const std::lock_guard lock(impl_->mutex);
  if (const auto summary = impl_->limiter.summary(now)) impl_->write(*summary);
}

ib::Instant LogFile::next_deadline() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->limiter.next_deadline();
}

unsigned LogFile::flags() const { return impl_->flags; }
void LogFile::set_flags(unsigned flags) { impl_->flags = flags; }
void LogFile::set_flush(bool each_line) {
  impl_->logger->flush_on(each_line ? spdlog::level::trace : spdlog::level::info);
  if (each_line) impl_->logger->flush();
}
bool LogFile::writes_frames() const { return (impl_->flags & kLogFrames) != 0; }
void LogFile::write_frame(const std::string& line) { impl_->logger->trace("frame: {}", line); }

void LogFile::write_always(const std::string& line) {
  impl_->logger->info(line);
  impl_->major(ib::LogLevel::Info, line);
  impl_->logger->flush();
}

void LogFile::finish() {
  const std::lock_guard lock(impl_->mutex);
  if (const auto summary = impl_->limiter.last_summary(impl_->clock())) impl_->write(*summary);
  impl_->logger->flush();
}

ib::Result<void> LogFile::reopen() {
  if (impl_->path.empty()) return {};
  auto sink = open_file(impl_->path, impl_->shape.max_size);
  if (!sink) return tl::unexpected(sink.error());
  (*sink)->set_pattern(pattern(impl_->shape.prefix));
  impl_->logger->flush();
  impl_->out->set_sinks({*std::move(sink)});
  return {};
}

}  // namespace sm::daemon
