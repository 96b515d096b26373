// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/clients_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

constexpr const char* kAll = "all";

core::ClientsToAsk read(const std::string& path) {
  core::ClientsToAsk due;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (ib::Guid guid; ib::parse_guid(line, guid))
      due.ports.insert(guid);
    else
      due.all = true;
  }
  due.all = due.all || (file.eof() && due.empty());
  return due;
}

}  // namespace

ClientsFile::ClientsFile(const std::string& state_dir)
    : path_(state_dir + "/clients-to-ask"), due_(read(path_)) {}

void ClientsFile::add(const core::ClientsToAsk& more) {
  core::ClientsToAsk due = due_;
  due.all = due.all || more.all;
  due.ports.insert(more.ports.begin(), more.ports.end());
  set(std::move(due));
}

void ClientsFile::set(core::ClientsToAsk due) {
  if (due == due_) return;
  due_ = std::move(due);
  write();
}

void ClientsFile::write() const {
  if (due_.empty()) {
    std::error_code error;
    std::filesystem::remove(path_, error);
    return;
  }
  std::string text = due_.all ? std::string(kAll) + '\n' : "";
  for (const ib::Guid guid : due_.ports) text += to_string(guid) + '\n';
  static_cast<void>(store::replace_file(path_, text));
}

}  // namespace sm::daemon
