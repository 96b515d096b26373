// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Big-endian loads and stores on raw bytes. Used by libdiag/wire and by file formats; not
// elsewhere.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ib {

template <class T>
inline T load_be(const std::byte* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  if constexpr (sizeof(T) == 2) v = static_cast<T>(__builtin_bswap16(v));
  if constexpr (sizeof(T) == 4) v = static_cast<T>(__builtin_bswap32(v));
  if constexpr (sizeof(T) == 8) v = static_cast<T>(__builtin_bswap64(v));
  return v;
}

template <class T>
inline void store_be(std::byte* at, T v) {
  if constexpr (sizeof(T) == 2) v = static_cast<T>(__builtin_bswap16(v));
  if constexpr (sizeof(T) == 4) v = static_cast<T>(__builtin_bswap32(v));
  if constexpr (sizeof(T) == 8) v = static_cast<T>(__builtin_bswap64(v));
  std::memcpy(at, &v, sizeof v);
}

}  // namespace ib
