// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/peers.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace sm::config {
namespace {

sockaddr_storage address(const char* text) {
  sockaddr_storage out{};
  sockaddr_in ipv4{};
  sockaddr_in6 ipv6{};
  ipv4.sin_family = AF_INET;
  ipv6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1)
    std::memcpy(&out, &ipv4, sizeof ipv4);
  else if (inet_pton(AF_INET6, text, &ipv6.sin6_addr) == 1)
    std::memcpy(&out, &ipv6, sizeof ipv6);
  return out;
}

TEST(Peers, AddressesAndPrefixesOfBothFamilies) {
  const auto peers = Peers::read("192.0.2.7, 10.1.0.0/16\tfd00::/8 2001:db8::1").value();
  for (const char* one : {"192.0.2.7", "10.1.255.1", "fd12::3", "2001:db8::1", "::ffff:192.0.2.7"})
    EXPECT_TRUE(peers.contain(address(one))) << one;
  for (const char* one : {"192.0.2.8", "10.2.0.1", "fe80::1", "2001:db8::2", "::1"})
    EXPECT_FALSE(peers.contain(address(one))) << one;
}

TEST(Peers, PrefixesThatEndWithinAByteAndThoseOfLengthZero) {
  const auto some = Peers::read("192.0.2.128/25").value();
  EXPECT_TRUE(some.contain(address("192.0.2.129")));
  EXPECT_FALSE(some.contain(address("192.0.2.127")));
  const auto ipv4 = Peers::read("0.0.0.0/0").value();
  EXPECT_TRUE(ipv4.contain(address("203.0.113.9")));
  EXPECT_FALSE(ipv4.contain(address("2001:db8::1")));
  EXPECT_TRUE(Peers::read("::/0").value().contain(address("2001:db8::1")));
}

TEST(Peers, NobodyIsInAnEmptyListNorWithoutAnAddress) {
  const auto none = Peers::read(" ").value();
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(none.contain(address("127.0.0.1")));
  EXPECT_FALSE(Peers::read("::/0").value().contain(sockaddr_storage{}));
}

TEST(Peers, WhatIsNoAddressIsSaid) {
  for (const char* text :
       {"localhost", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0", "1/2/3"}) {
    const auto wrong = Peers::read(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_NE(wrong.error().message.find("expected addresses or prefixes"), std::string::npos);
    EXPECT_NE(wrong.error().message.find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace sm::config
