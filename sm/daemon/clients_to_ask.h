// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The duty to ask all clients to register again, once what they had registered is lost: a file in
// the state directory from then on until all of them have been asked, so that a process that dies
// before has a successor who knows of it.
#pragma once

#include <string>

namespace sm::daemon {

class ClientsToAsk {
 public:
  explicit ClientsToAsk(const std::string& state_dir);
  /// An earlier process had it and did not come to an end.
  bool is_due() const;
  /// Precondition of its lasting: the state directory can be written. Where it cannot, the store
  /// has an error line already, and the next start finds it lost likewise.
  void keep() const;
  void done() const;

 private:
  std::string path_;
};

}  // namespace sm::daemon
