// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/m_key_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "libdiag/fabric/text_file.h"
#include "sm/store/guid2mkey.h"
#include "sm/store/set_aside.h"
#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

constexpr auto kOnceASecond = std::chrono::seconds(1);
constexpr const char* kName = "guid2mkey";
constexpr std::size_t kBytesMax = std::size_t{1} << 24;

BackupFile::Text text_of(const core::MKeys& keys) {
  if (keys.revision() == 0) return {};
  if (keys.known().empty()) return [] { return std::string("# no port has an M_Key\n"); };
  return [known = keys.known()] { return store::write_guid2mkey(known); };
}

}  // namespace

MKeyFile::MKeyFile(const std::string& state_dir, std::launch launch)
    : path_(state_dir + "/" + kName), file_("list of M_Keys", path_, kOnceASecond, launch) {}

MKeyFile::Read MKeyFile::read() const {
  Read read;
  for (const std::string& path : {path_, store::previous_backup(path_)}) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    const auto text = ib::fabric::read_regular_file(path, kBytesMax);
    auto keys = text ? store::read_guid2mkey(*text)
                     : ib::Result<std::map<ib::Guid, std::uint64_t>>(tl::unexpected(text.error()));
    if (keys) {
      read.keys = *std::move(keys);
      break;
    }
    const auto kept = store::set_aside(path, "unread");
    read.lines.push_back(
        {ib::LogLevel::Error,
         "store",
         fmt::format("{}{}{}: ports that have another M_Key than m_key are not reached{}", path,
                     text ? ":" : ": ", keys.error().message,
                     kept ? "; the file is kept as " + *kept : ""),
         {}});
  }
  return read;
}

std::optional<ib::LogEvent> MKeyFile::look(ib::Instant now, const core::MKeys& keys) {
  return file_.look(now, keys.revision(), [&] { return text_of(keys); });
}

ib::Instant MKeyFile::next_deadline(const core::MKeys& keys) const {
  return file_.next_deadline(keys.revision());
}

std::optional<std::string> MKeyFile::finish(const core::MKeys& keys) {
  return file_.finish(keys.revision(), [&] { return text_of(keys); });
}

}  // namespace sm::daemon
