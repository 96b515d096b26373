// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any line on the control socket: an error, or a request or an answer that reads the same again.
#include <string>

#include "sm/control/protocol.h"
#include "tests/fuzz/fuzz.h"

namespace {

std::string_view without_end(const std::string& line) {
  return std::string_view(line).substr(0, line.size() - 1);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  using namespace sm::control;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto request = decode_request(line)) {
    const std::string again = encode(*request);
    require(again.find('\n') == again.size() - 1, "a request is one line");
    require(decode_request(without_end(again)) == request, "a request reads the same again");
  }
  if (const auto answer = decode_answer(line))
    require(decode_answer(without_end(encode(*answer))) == answer,
            "an answer reads the same again");
  return 0;
}
