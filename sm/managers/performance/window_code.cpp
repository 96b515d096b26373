// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/window_code.h"

#include <chrono>

namespace sm::managers::performance {
namespace {

constexpr std::byte kMark{1};

void put(std::vector<std::byte>& to, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) to.push_back(static_cast<std::byte>((v & 0x7F) | 0x80));
  to.push_back(static_cast<std::byte>(v));
}

std::optional<std::uint64_t> take(std::span<const std::byte>& from) {
  std::uint64_t v = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto piece = static_cast<std::uint64_t>(from.front());
    from = from.subspan(1);
    v |= (piece & 0x7F) << shift;
    if (piece < 0x80) return v;
  }
  return std::nullopt;
}

std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
std::uint64_t from_zigzag(std::uint64_t v) {
  return v >> 1 ^ ((v & 1) != 0 ? ~std::uint64_t{0} : 0);
}

}  // namespace

std::vector<std::byte> encode(const PortTotals::State& state, ib::Duration wall_at_zero) {
  std::vector<std::byte> bytes{kMark};
  const ib::Duration reset = wall_at_zero + ib::Duration{state.last_reset.ns};
  put(bytes,
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(reset).count()));
  put(bytes, kCounterCount);
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    put(bytes, state.totals[i]);
    put(bytes, zigzag(state.last[i] - state.totals[i]));
  }
  return bytes;
}

std::optional<PortTotals::State> decode(std::span<const std::byte> bytes,
                                        ib::Duration wall_at_zero) {
  if (bytes.empty() || bytes.front() != kMark) return std::nullopt;
  bytes = bytes.subspan(1);
  const auto reset = take(bytes), count = take(bytes);
  constexpr std::uint64_t kSecondsMost = 1ULL << 33;  // in nanoseconds of an Instant
  if (!reset || !count || *reset > kSecondsMost) return std::nullopt;
  PortTotals::State state;
  state.last_reset = ib::Instant{} + std::chrono::seconds(*reset) - wall_at_zero;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto total = take(bytes), difference = take(bytes);
    if (!total || !difference) return std::nullopt;
    if (i >= kCounterCount) continue;
    state.totals[i] = *total;
    state.last[i] = *total + from_zigzag(*difference);
  }
  if (!bytes.empty()) return std::nullopt;
  return state;
}

}  // namespace sm::managers::performance
