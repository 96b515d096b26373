// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/guid2mkey.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"

namespace sm::store {

std::string write_guid2mkey(const std::map<ib::Guid, std::uint64_t>& keys) {
  std::string text;
  for (const auto& [guid, key] : keys)
    fmt::format_to(std::back_inserter(text), "0x{:016x} 0x{:016x}\n\n", guid.value, key);
  return text;
}

ib::Result<std::map<ib::Guid, std::uint64_t>> read_guid2mkey(std::string_view text) {
  std::map<ib::Guid, std::uint64_t> keys;
  std::size_t number = 0;
  for (const std::string_view line : ib::split(text, '\n')) {
    ++number;
    std::string_view rest = ib::trim(line);
    if (rest.empty() || rest[0] == '#') continue;
    const auto wrong = [&](std::string_view at, const char* expected) {
      return ib::fail(ib::ErrorKind::Malformed,
                      fmt::format("{}:{}: expected {}, got '{}'", number,
                                  at.data() - line.data() + 1, expected, ib::printable(at)));
    };
    const auto blank = rest.find_first_of(" \t");
    const std::string_view guid_text = rest.substr(0, blank);
    const std::string_view key_text =
        blank == std::string_view::npos ? rest.substr(rest.size()) : ib::trim(rest.substr(blank));
    ib::Guid guid;
    std::uint64_t key = 0;
    if (!ib::parse_guid(guid_text, guid) || guid.value == 0)
      return wrong(guid_text, "a port GUID (0x...)");
    if (!key_text.starts_with("0x") || !ib::parse_number(key_text, UINT64_MAX, key))
      return wrong(key_text, "an M_Key (0x...)");
    if (const auto [known, is_new] = keys.try_emplace(guid, key); !is_new && known->second != key)
      return wrong(guid_text, "a GUID that is not there with another key yet");
  }
  return keys;
}

}  // namespace sm::store
