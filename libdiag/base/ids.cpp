// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Text forms of the identifiers and their readers.
#include "libdiag/base/ids.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>

namespace ib {
namespace {

bool has_hex_prefix(std::string_view text) {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

/// All of `digits` as a number of `base`; no sign, no blanks.
bool parse_digits(std::string_view digits, int base, std::uint64_t& out) {
  std::uint64_t v = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, v, base);
  if (digits.empty() || error != std::errc{} || stop != end) return false;
  out = v;
  return true;
}

}  // namespace

std::string to_string(Lid lid) { return std::to_string(lid.value); }

std::string to_string(Guid guid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(guid.value >> shift) & 0xF];
  return text;
}

std::string to_string(const Gid& gid) {
  char text[INET6_ADDRSTRLEN];
  in6_addr address;
  std::memcpy(&address, gid.bytes.data(), gid.bytes.size());
  return inet_ntop(AF_INET6, &address, text, sizeof text);
}

bool parse_number(std::string_view text, std::uint64_t max, std::uint64_t& out) {
  std::uint64_t v = 0;
  const bool good =
      has_hex_prefix(text) ? parse_digits(text.substr(2), 16, v) : parse_digits(text, 10, v);
  if (!good || v > max) return false;
  out = v;
  return true;
}

bool parse_guid(std::string_view text, Guid& out) {
  const bool prefixed = has_hex_prefix(text);
  // Bare digits are a GUID only in full length: "17" alone could as well be a LID.
  if (prefixed ? text.size() > 18 : text.size() != 16) return false;
  std::uint64_t v = 0;
  if (!parse_digits(prefixed ? text.substr(2) : text, 16, v)) return false;
  out = Guid{v};
  return true;
}

bool parse_lid(std::string_view text, Lid& out) {
  std::uint64_t v = 0;
  if (!parse_number(text, 0xFFFE, v) || v == 0) return false;
  out = Lid{static_cast<std::uint16_t>(v)};
  return true;
}

bool parse_gid(std::string_view text, Gid& out) {
  char copy[INET6_ADDRSTRLEN];
  // inet_pton wants a terminated string; an embedded NUL would hide what follows it.
  if (text.size() >= sizeof copy || text.find('\0') != std::string_view::npos) return false;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  in6_addr address;
  if (inet_pton(AF_INET6, copy, &address) != 1) return false;
  std::memcpy(out.bytes.data(), &address, out.bytes.size());
  return true;
}

}  // namespace ib
