// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/store_place.h"

#include <algorithm>
#include <optional>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"

namespace sm::config {
namespace {

constexpr std::string_view kPlain = "etcd://", kTls = "etcds://";

tl::unexpected<ib::Error> expected(std::string_view got) {
  return ib::fail(
      ib::ErrorKind::Usage,
      "expected etcd://HOST[:PORT],HOST[:PORT] or etcds://..., got '" + ib::printable(got) + "'");
}

bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == ':';
}

/// "HOST:PORT" of "HOST", "HOST:PORT", "[ADDRESS]" or "[ADDRESS]:PORT".
std::optional<std::string> with_port(std::string_view member) {
  const bool in_brackets = member.starts_with('[');
  const auto end = in_brackets ? member.find(']') : member.find(':');
  if (in_brackets && end == std::string_view::npos) return std::nullopt;
  const auto host = in_brackets ? member.substr(1, end - 1) : member.substr(0, end);
  auto rest = end == std::string_view::npos ? std::string_view() : member.substr(end);
  if (in_brackets) rest.remove_prefix(1);
  std::uint64_t port = 0;
  if (host.empty() || !std::ranges::all_of(host, is_host_byte)) return std::nullopt;
  if (rest.empty()) rest = ":2379";
  if (!rest.starts_with(':') || !ib::parse_number(rest.substr(1), 65535, port) || port == 0)
    return std::nullopt;
  return (in_brackets ? "[" + std::string(host) + "]" : std::string(host)) + ":" +
         std::to_string(port);
}

}  // namespace

ib::Result<StorePlace> StorePlace::read(std::string_view text) {
  StorePlace place;
  if (text.empty()) return place;
  const bool tls = text.starts_with(kTls);
  if (!tls && !text.starts_with(kPlain)) return expected(text);
  for (const auto member : ib::split(text.substr((tls ? kTls : kPlain).size()), ',')) {
    const auto endpoint = with_port(ib::trim(member));
    if (!endpoint) return expected(text);
    place.endpoints.push_back((tls ? "https://" : "http://") + *endpoint);
  }
  return place;
}

ib::Result<void> check_store_prefix(std::string_view text) {
  const auto is_good = [](char c) { return c > ' ' && c < 0x7F; };
  if (text.size() > 1 && text.starts_with('/') && text.ends_with('/') &&
      std::ranges::all_of(text, is_good))
    return {};
  return ib::fail(ib::ErrorKind::Usage,
                  "expected a prefix that begins and ends with a slash, such as /ibkit/default/, "
                  "got '" +
                      ib::printable(text) + "'");
}

}  // namespace sm::config
