// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "agent/privileges.h"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace agent {

namespace {

tl::unexpected<ib::Error> refused(const std::string& what) {
  return ib::fail(ib::ErrorKind::Unavailable, what + ": " + std::strerror(errno));
}

}  // namespace

ib::Result<void> drop_privileges(const std::string& user) {
  if (::geteuid() == 0) {
    errno = 0;
    const passwd* entry = ::getpwnam(user.c_str());
    if (entry == nullptr)
      return ib::fail(ib::ErrorKind::Usage, "drop privileges to user '" + user +
                                                "': no such user; name another with --user");
    const uid_t uid = entry->pw_uid;
    const gid_t gid = entry->pw_gid;
    if (::setgroups(0, nullptr) != 0) return refused("drop supplementary groups");
    if (::setresgid(gid, gid, gid) != 0) return refused("become group of '" + user + "'");
    // Leaving uid 0 for good also clears the permitted and effective capabilities
    // (capabilities(7)).
    if (::setresuid(uid, uid, uid) != 0) return refused("become user '" + user + "'");
    if (uid != 0 && ::setuid(0) == 0)
      return ib::fail(ib::ErrorKind::Internal, "root came back after becoming '" + user + "'");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("forbid new privileges");
  return {};
}

}  // namespace agent
