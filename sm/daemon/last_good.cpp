// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/last_good.h"

#include <algorithm>
#include <filesystem>

#include "libdiag/base/text.h"
#include "sm/daemon/host_name.h"
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

std::string name_of(const PolicyFile& kind) {
  const std::string_view copy = kind.copy;
  return std::string(copy.substr(0, copy.rfind('.')));
}

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

store::PolicyCopy policy_copy(const GoodFile& file, const std::string& state_dir) {
  return {name_of(*file.kind), host_name(), full_name(state_dir), full_name(file.path), file.text};
}

std::string PolicyFiles::StandIn::name() const { return host.empty() ? place : host + ':' + of; }

std::string PolicyFiles::StandIn::description() const {
  return host.empty() ? "the last copy of " + of + " that could be used is in force" : brief();
}

std::string PolicyFiles::StandIn::brief() const {
  return host.empty() ? "the last copy that could be used is in force"
                      : "what the subnet manager on " + host + " last had in force, its " + of +
                            ", is in force";
}

void PolicyFiles::know_good(const PolicyFile& kind, const std::string& path,
                            const std::string& text) {
  if (std::ranges::find(good_, &kind, &GoodFile::kind) == good_.end())
    good_.push_back({&kind, path, text});
}

void PolicyFiles::know_trouble(const PolicyFile& kind, const std::string& why,
                               const StandIn& copy) {
  if (std::ranges::find(troubles_, &kind, &FileTrouble::kind) != troubles_.end()) return;
  troubles_.push_back(
      {&kind, why + '\n' + copy.description() + " (" + copy.place + ")", copy.brief()});
}

std::optional<PolicyFiles::StandIn> PolicyFiles::kept(const PolicyFile& kind,
                                                      std::string& trouble) const {
  std::optional<store::PolicyCopy> shared;
  if (shared_ != nullptr) {
    if (auto read = shared_->read(name_of(kind)))
      shared = *std::move(read);
    else
      trouble = std::move(read.error().message);
  }
  auto own = last_good(kind, state_dir_);
  const bool is_ours =
      shared && shared->host == host_name() && shared->directory == full_name(state_dir_);
  // Of what this host had in force the copy here is as new as the other one, or newer.
  if (own && (!shared || is_ours))
    return StandIn{std::move(own->text), std::move(own->of), {}, copy_path(kind, state_dir_)};
  if (!shared) return std::nullopt;
  return StandIn{std::move(shared->text), ib::printable(shared->path),
                 is_ours ? std::string() : ib::printable(shared->host),
                 shared_->place(name_of(kind))};
}

std::optional<PolicyFiles::StandIn> PolicyFiles::stand_in(const PolicyFile& kind,
                                                          const std::string& path,
                                                          ib::Error& error) const {
  std::string trouble;
  auto copy = kept(kind, trouble);
  if (!trouble.empty()) error.message += '\n' + trouble;
  // Where it lies is the other host's affair.
  if (!copy || !copy->host.empty() || copy->of == full_name(path)) return copy;
  error.message += "\nthe last file that could be used was another one, " + copy->of +
                   ", and does not stand in for this";
  return std::nullopt;
}

}  // namespace sm::daemon
