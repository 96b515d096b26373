// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Result<T>: a value or an Error. An Error says what was attempted, on what, and what came back.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace ib {

/// Why something did not succeed, coarse enough to choose an exit status by (cli/exit_status.h).
enum class ErrorKind {
  Usage,        // the caller's words or a bad file
  NotFound,     // what was named does not exist
  Unavailable,  // no device, no server, no permission
  TimedOut,     // no answer after every attempt
  Refused,      // an answer with a MAD status other than 0
  Malformed,    // an answer or input that does not parse
  Io,           // the operating system said no
  Internal,     // a limit of ours
};

struct Error {
  ErrorKind kind{ErrorKind::Internal};
  std::string message;
  std::uint16_t mad_status{0};  // with Refused: the MAD's status field, host order

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, std::move(message), 0});
}

}  // namespace ib
