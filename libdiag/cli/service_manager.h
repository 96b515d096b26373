// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a daemon tells the service manager that started it (sd_notify(3), Type=notify).
#pragma once

#include <string_view>

namespace ib::cli {

/// Lines such as "READY=1" and "STATUS=...", to the socket that $NOTIFY_SOCKET names. Nothing where
/// there is none, or nobody hears.
void tell_service_manager(std::string_view lines);

}  // namespace ib::cli
