// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Asks subnet administration what the lines of stdin say, byte for byte:
//   get|table|set|delete|multi ATTRIBUTE MODIFIER MASK SM_KEY DATA    (numbers and data in hex)
// and prints for each `STATUS COUNT` (hex, decimal; `silent` for no answer) and a line a record.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "libdiag/mad/rmpp.h"
#include "tests/interop/sa/local_sa.h"

namespace {

using ib::wire::Method;
constexpr std::pair<std::string_view, Method> kMethods[] = {{"get", Method::Get},
                                                            {"table", Method::GetTable},
                                                            {"set", Method::Set},
                                                            {"delete", Method::Delete},
                                                            {"multi", Method::GetMulti}};

std::string hex(const ib::mad::Packet& answer, std::size_t at, std::size_t bytes) {
  std::vector<std::byte> record(bytes);
  ib::query::copy_data(answer, at, record.data(), bytes);
  std::string text;
  for (const std::byte b : record) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return text;
}

bool read_data(const std::string& text, ib::wire::Mad& mad) {
  if (text.size() % 2 != 0 || text.size() / 2 > ib::wire::kSaDataBytes) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    if (std::from_chars(&text[i], &text[i] + 2, value, 16).ptr != &text[i] + 2) return false;
    mad.data()[i / 2] = static_cast<std::byte>(value);
  }
  return true;
}

void print(const ib::mad::Packet& answer, bool table) {
  const auto stride = answer.mad.get<&ib::wire::SaHeader::attribute_offset>() * std::size_t{8};
  std::size_t count = 0;
  if (answer.mad.status() == 0) {
    const auto shape = ib::query::table_shape(answer, stride == 0 ? 8 : stride);
    count = !table ? 1 : shape ? shape->count : 0;
  }
  fmt::print("{:04x} {}\n", answer.mad.status(), count);
  // One record alone is as long as it is, whatever the header says (opensm: 32 of 36 bytes).
  const auto bytes = table ? stride : ib::wire::kSaDataBytes;
  for (std::size_t i = 0; i < count; ++i) fmt::print("{}\n", hex(answer, i * stride, bytes));
}

}  // namespace

int main() {
  const auto local = probe::find_local_sa();
  if (!local) return probe::complain(local.error());
  ib::mad::Session session(*local->port, {});
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string method, data;
    std::uint16_t attribute = 0;
    std::uint32_t modifier = 0;
    std::uint64_t mask = 0, key = 0;
    words >> method >> std::hex >> attribute >> modifier >> mask >> key >> data;
    auto sa = local->address;
    sa.sm_key = key;
    const auto verb =
        std::ranges::find(kMethods, method, &std::pair<std::string_view, Method>::first);
    const Method asked = verb == std::end(kMethods) ? Method::Get : verb->second;
    auto request = ib::query::sa_request(0, sa, asked, attribute, mask, modifier);
    if (asked == Method::GetMulti) {
      // A question by RMPP, though it fits into one MAD: the kernel sends it as one.
      ib::wire::RmppHeader rmpp;
      rmpp.version = 1;
      rmpp.type = static_cast<std::uint8_t>(ib::mad::rmpp::Type::Data);
      rmpp.active = true;
      ib::wire::encode(rmpp, request.mad.bytes.data());
    }
    if (!words || verb == std::end(kMethods) || !read_data(data, request.mad)) {
      fmt::print(stderr, "not a request: {}\n", line);
      return 2;
    }
    if (const auto answer = session.call(std::move(request))) {
      print(*answer, asked == Method::GetTable || asked == Method::GetMulti);
    } else {
      fmt::print("silent 0\n");
    }
    std::fflush(stdout);  // who goes by the answers sees each as it comes
  }
  return 0;
}
