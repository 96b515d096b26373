// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "libdiag/base/text.h"
#include "sm/store/etcd/batch_code.h"
#include "sm/store/store_files.h"

namespace sm::store::etcd {
namespace {

/// The line that `text` begins with, which is cut off it; nothing: there is no whole line.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

/// Likewise an entry.
std::optional<Journal::Entry> take_entry(std::string_view& text) {
  std::string_view rest = text;
  const auto line = take_line(rest);
  std::uint64_t bytes = 0;
  if (!line || line->size() < 3 || ((*line)[0] != 'B' && (*line)[0] != 'W') ||
      !ib::parse_number(line->substr(2), rest.size(), bytes))
    return std::nullopt;
  auto batch = decode(rest.substr(0, bytes));
  if (!batch) return std::nullopt;
  text = rest.substr(bytes);
  return Journal::Entry{(*line)[0] == 'W', *std::move(batch)};
}

}  // namespace

Journal::Left Journal::read() const {
  Left left;
  std::ostringstream all;
  if (path_.empty() || !(all << std::ifstream(path_, std::ios::binary).rdbuf())) return left;
  const std::string text = std::move(all).str();
  std::string_view rest = text;
  const auto epoch = take_line(rest);
  if (!epoch) return left;
  left.epoch = *epoch;
  left.bytes = text.size() - rest.size();
  while (auto entry = take_entry(rest)) {
    left.entries.push_back(*std::move(entry));
    left.bytes = text.size() - rest.size();
  }
  return left;
}

ib::Result<void> Journal::resume(const Left& left) {
  bytes_ = left.bytes;
  if (::truncate(path_.c_str(), static_cast<off_t>(left.bytes)) == 0)
    file_.reset(std::fopen(path_.c_str(), "ab"));
  if (file_ != nullptr) return {};
  return ib::fail(ib::ErrorKind::Io,
                  fmt::format("{} cannot be written: {}", path_, std::strerror(errno)));
}

ib::Result<void> Journal::begin(const std::string& epoch, const Entry& first) {
  file_.reset();
  bytes_ = 0;
  if (path_.empty()) return {};
  // The one before is there until this one is whole.
  const std::string fresh = path_ + ".new";
  if (auto made = make_private(fresh); !made) return made;
  file_.reset(std::fopen(fresh.c_str(), "wb"));
  if (file_ == nullptr)
    return ib::fail(ib::ErrorKind::Io,
                    fmt::format("{} cannot be written: {}", fresh, std::strerror(errno)));
  std::fputs((epoch + '\n').c_str(), file_.get());
  if (auto done = append(first); !done) return done;
  if (::rename(fresh.c_str(), path_.c_str()) == 0) return {};
  return ib::fail(ib::ErrorKind::Io,
                  fmt::format("{} cannot be replaced: {}", path_, std::strerror(errno)));
}

ib::Result<void> Journal::add(const Batch& batch) {
  if (file_ == nullptr) return {};  // that it cannot be written was said
  return append({false, batch});
}

ib::Result<void> Journal::append(const Entry& entry) {
  const std::string bytes = encode(entry.batch);
  const std::string text = fmt::format("{} {}\n", entry.is_whole ? 'W' : 'B', bytes.size()) + bytes;
  bytes_ += text.size();
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() &&
      std::fflush(file_.get()) == 0 && fdatasync(fileno(file_.get())) == 0)
    return {};
  const int why = errno;
  file_.reset();
  return ib::fail(ib::ErrorKind::Io,
                  fmt::format("{} cannot be written: {}", path_, std::strerror(why)));
}

void Journal::clear() {
  file_.reset();
  bytes_ = 0;
  if (!path_.empty()) (void)::unlink(path_.c_str());
}

std::string Journal::set_aside() {
  file_.reset();
  bytes_ = 0;
  const std::string aside = path_ + ".dropped";
  (void)::rename(path_.c_str(), aside.c_str());
  return aside;
}

void apply(const Journal::Left& left, Contents& contents) {
  for (const Journal::Entry& entry : left.entries) {
    if (entry.is_whole) contents = {};
    store::apply(entry.batch, contents);
  }
}

}  // namespace sm::store::etcd
