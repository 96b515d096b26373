// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/clients_to_ask.h"

#include <filesystem>
#include <system_error>

#include "sm/store/text_backup.h"

namespace sm::daemon {

ClientsToAsk::ClientsToAsk(const std::string& state_dir) : path_(state_dir + "/clients-to-ask") {}

bool ClientsToAsk::is_due() const {
  std::error_code error;
  return std::filesystem::exists(path_, error);
}

void ClientsToAsk::keep() const {
  if (is_due()) return;
  static_cast<void>(store::replace_file(
      path_, "ibsm asks all clients to register again, and removes this file when it has.\n"));
}

void ClientsToAsk::done() const {
  std::error_code error;
  std::filesystem::remove(path_, error);
}

}  // namespace sm::daemon
