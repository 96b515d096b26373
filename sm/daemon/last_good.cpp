// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/last_good.h"

#include <algorithm>
#include <filesystem>

#include "libdiag/base/text.h"
#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

/// The last line of a copy, with the path behind it. In all of these files # begins a comment.
constexpr std::string_view kOrigin = "# last good copy of ";

/// One file has one such name, from wherever ibsm is started.
std::string full_name(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  return ib::printable(error ? path : whole.lexically_normal().string());
}

}  // namespace

std::string copy_path(const PolicyFile& kind, const std::string& state_dir) {
  return state_dir + "/" + kind.copy;
}

std::optional<LastGood> last_good(const PolicyFile& kind, const std::string& state_dir) {
  auto text = read_operator_file(copy_path(kind, state_dir));
  if (!text || !text->ends_with('\n')) return std::nullopt;
  const std::string_view lines(text->data(), text->size() - 1);
  const auto begin = lines.rfind('\n') + 1;  // npos + 1 is the beginning
  const std::string_view line = lines.substr(begin);
  if (!line.starts_with(kOrigin)) return std::nullopt;
  std::string of(line.substr(kOrigin.size()));
  text->resize(begin);
  return LastGood{*std::move(text), std::move(of)};
}

ib::Result<void> keep_good(const GoodFile& file, const std::string& state_dir) {
  std::string copy = file.text;
  if (!copy.empty() && !copy.ends_with('\n')) copy += '\n';
  copy.append(kOrigin).append(full_name(file.path)) += '\n';
  return store::replace_file(copy_path(*file.kind, state_dir), copy);
}

void PolicyFiles::know_good(const PolicyFile& kind, const std::string& path,
                            const std::string& text) {
  if (std::ranges::find(good_, &kind, &GoodFile::kind) == good_.end())
    good_.push_back({&kind, path, text});
}

void PolicyFiles::know_trouble(const PolicyFile& kind, const std::string& path,
                               const std::string& why) {
  if (std::ranges::find(troubles_, &kind, &FileTrouble::kind) == troubles_.end())
    troubles_.push_back({&kind, why + "\nthe last copy of " + path +
                                    " that could be used is in force (" +
                                    copy_path(kind, state_dir_) + ")"});
}

std::optional<std::string> PolicyFiles::last_good_of(const PolicyFile& kind,
                                                     const std::string& path,
                                                     ib::Error& error) const {
  auto copy = last_good(kind, state_dir_);
  if (!copy) return std::nullopt;
  if (copy->of == full_name(path)) return std::move(copy->text);
  error.message += "\nthe last file that could be used was another one, " + copy->of +
                   ", and does not stand in for this";
  return std::nullopt;
}

}  // namespace sm::daemon
