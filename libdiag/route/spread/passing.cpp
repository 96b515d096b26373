// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/passing.h"

#include <algorithm>
#include <cstring>

namespace ib::route {

using fabric::SwitchIndex;

void Passing::begin(std::span<const Target> batch) {
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  batch_ = batch;
  std::fill_n(written_.begin(), stride_ * batch.size(), std::uint8_t{0});
  std::size_t words = 0;
  for (std::size_t b = 0; b < batch.size(); ++b) {
    const std::size_t columns = batch[b].columns();
    const std::size_t masks = (columns + 63) / 64;
    std::size_t size = masks + (columns + 3) / 4;
    // As few lines of the cache as will do.
    if (size != 0) size = size <= kLine ? std::bit_ceil(size) : (size + kLine - 1) / kLine * kLine;
    words = (words + kLine - 1) / kLine * kLine;
    layout_[b] = {words, size, masks};
    words += size * switches_;
  }
  const std::size_t bytes = (words + kLine) * sizeof(std::uint64_t);
  if (bytes <= room_size_) return;
  room_.reset(new std::byte[bytes]);  // with anything in it
  room_size_ = bytes;
  void* at = room_.get();
  std::size_t space = bytes;
  cells_ = static_cast<std::uint64_t*>(std::align(64, words * sizeof(std::uint64_t), at, space));
}

std::array<std::uint64_t, Passing::kAtOnce> Passing::written_of(SwitchIndex first) const {
  std::array<std::uint64_t, kAtOnce> bits{};
  for (std::size_t b = 0; b < batch_.size(); ++b) {
    const std::uint8_t* at = written_.data() + b * stride_ + first;
    std::uint64_t any;
    std::memcpy(&any, at, sizeof any);
    for (std::size_t i = 0; any != 0 && i < kAtOnce; ++i) bits[i] |= std::uint64_t{at[i]} << b;
  }
  return bits;
}

void Passing::write_own(SwitchIndex s, std::size_t b) {
  written_[b * stride_ + s] = 1;
  std::uint64_t* at = cell(s, b);
  std::fill_n(at, layout_[b].masks, std::uint64_t{0});
  const std::uint32_t own = targets_.sources(s);
  if (own == 0) return;
  const auto columns = targets_.columns(batch_[b]);
  std::uint16_t* sums = numbers(at, b);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c].counts) continue;
    sums[c] = static_cast<std::uint16_t>(own);
    at[c / 64] |= std::uint64_t{1} << (c % 64);
  }
}

}  // namespace ib::route
