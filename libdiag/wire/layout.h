// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The notation in which every IBA structure is described once. A structure is a plain value (struct
// of host-order members); its Layout is a list of fields, each with byte and bit offset and width
// as the specification's table prints them. The codec, the read-modify-write view, the text dump,
// JSON and SA component masks all come from that list.
//
//   template <> struct LayoutOf<NodeInfo> : Layout<"NodeInfo", "IBA 14.2.5.3", 40,
//       Field<&NodeInfo::base_version, at(0), 8, "BaseVersion">,
//       Field<&NodeInfo::system_image_guid, at(4), 64, "SystemImageGUID", Show::Guid>, ...
//
// Bit offsets count from the most significant bit of the byte, as the specification draws them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "libdiag/base/bytes.h"
#include "libdiag/base/ids.h"

namespace ib::wire {

/// Position in bits of a field that starts `bit` bits into byte `byte`.
consteval std::size_t at(std::size_t byte, std::size_t bit = 0) { return byte * 8 + bit; }

/// A string as a template argument.
template <std::size_t N>
struct Name {
  char text[N]{};
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is written where a Name is wanted.
  consteval Name(const char (&literal)[N]) { std::copy_n(literal, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// How a value is shown.
enum class Show : std::uint8_t {
  Decimal,
  Hex,       // 0x and as many digits as the width has
  Guid,      // 0x and 16 digits
  Gid,       // IPv6 text
  Text,      // NUL-padded characters, never trusted
  Raw,       // bytes as hex
  Named,     // an enumeration, with names
  Flags,     // a bit mask with names
  Secret,    // a key: shown only on request
  Nested,    // another structure
  Reserved,  // carries nothing; round-trips
};

/// Names of an enumeration's values or a mask's bits; an unlisted value has no name.
struct NamedValue {
  std::uint64_t value;
  const char* name;
};

template <class T>
struct LayoutOf;  // specialised once for each structure

template <class M>
struct MemberTraits;
template <class S, class T>
struct MemberTraits<T S::*> {
  using structure = S;
  using type = T;
};

/// One field: `Member` of the value, `Bit` from the start of the structure, `Width` bits an
/// element. For a std::array member the elements lie `Stride` bits apart (default: Width).
template <auto Member, std::size_t Bit, std::size_t Width, Name Spec, Show How = Show::Decimal,
          int SaBit = -1, std::size_t Stride = Width>
struct Field {
  using member_type = typename MemberTraits<decltype(Member)>::type;
  static constexpr auto kMember = Member;
  static constexpr std::size_t kBit = Bit;
  static constexpr std::size_t kWidth = Width;
  static constexpr std::size_t kStride = Stride;
  static constexpr Show kShow = How;
  static constexpr int kSaBit = SaBit;  // component mask bit in an SA record, or -1
  static constexpr std::string_view name() { return Spec.view(); }
};

template <Name StructName, Name Section, std::size_t Bytes, class... Fields>
struct Layout {
  static constexpr std::size_t kBytes = Bytes;
  static constexpr std::string_view name() { return StructName.view(); }
  static constexpr std::string_view section() { return Section.view(); }
  template <class Visitor>
  static constexpr void for_each(Visitor&& visit) {
    (visit(Fields{}), ...);
  }
};

// ---- bit access
// --------------------------------------------------------------------------------------------------

/// `Bytes` bytes as a number, by the few loads that takes: every MAD's headers pass here.
template <std::size_t Bytes>
inline std::uint64_t load_bytes(const std::byte* from) {
  if constexpr (Bytes == 8) {
    return load_be<std::uint64_t>(from);
  } else if constexpr (Bytes >= 4) {
    const std::uint64_t high = load_be<std::uint32_t>(from);
    if constexpr (Bytes == 4)
      return high;
    else
      return high << (8 * (Bytes - 4)) | load_bytes<Bytes - 4>(from + 4);
  } else if constexpr (Bytes >= 2) {
    const std::uint64_t high = load_be<std::uint16_t>(from);
    if constexpr (Bytes == 2)
      return high;
    else
      return high << 8 | static_cast<std::uint64_t>(from[2]);
  } else {
    return static_cast<std::uint64_t>(from[0]);
  }
}
template <std::size_t Bytes>
inline void store_bytes(std::byte* to, std::uint64_t v) {
  if constexpr (Bytes == 8) {
    store_be(to, v);
  } else if constexpr (Bytes >= 4) {
    store_be(to, static_cast<std::uint32_t>(v >> (8 * (Bytes - 4))));
    if constexpr (Bytes > 4) store_bytes<Bytes - 4>(to + 4, v);
  } else if constexpr (Bytes >= 2) {
    store_be(to, static_cast<std::uint16_t>(v >> (8 * (Bytes - 2))));
    if constexpr (Bytes == 3) to[2] = static_cast<std::byte>(v & 0xFF);
  } else {
    to[0] = static_cast<std::byte>(v & 0xFF);
  }
}

template <std::size_t Bit, std::size_t Width>
inline std::uint64_t extract(const std::byte* from) {
  static_assert(Width >= 1 && Width <= 64);
  constexpr std::size_t first = Bit / 8, last = (Bit + Width - 1) / 8;
  static_assert(last - first < 8, "a field spans at most eight bytes");
  constexpr std::size_t drop = (last + 1) * 8 - (Bit + Width);
  std::uint64_t v = load_bytes<last - first + 1>(from + first) >> drop;
  if constexpr (Width < 64) v &= (std::uint64_t{1} << Width) - 1;
  return v;
}

template <std::size_t Bit, std::size_t Width>
inline void deposit(std::byte* to, std::uint64_t v) {
  constexpr std::size_t first = Bit / 8, last = (Bit + Width - 1) / 8, bytes = last - first + 1;
  static_assert(bytes <= 8);
  constexpr std::size_t drop = (last + 1) * 8 - (Bit + Width);
  constexpr std::uint64_t mask = ~std::uint64_t{0} >> (64 - Width);
  v = (v & mask) << drop;
  if constexpr (Width < 8 * bytes) v |= load_bytes<bytes>(to + first) & ~(mask << drop);
  store_bytes<bytes>(to + first, v);
}

// ---- scalar conversion: an integer, an enumeration, a bool or a strong identifier
// ------------------------------------

template <class T>
constexpr std::uint64_t to_raw(const T& v) {
  if constexpr (requires { typename T::rep_type; }) {
    return v.value;
  } else {
    return static_cast<std::uint64_t>(v);
  }
}
template <class T>
constexpr T from_raw(std::uint64_t raw) {
  if constexpr (requires { typename T::rep_type; }) {
    return T{static_cast<typename T::rep_type>(raw)};
  } else {
    return static_cast<T>(raw);
  }
}

template <class T>
struct IsArray : std::false_type {};
template <class E, std::size_t N>
struct IsArray<std::array<E, N>> : std::true_type {
  static constexpr std::size_t kCount = N;
  using element = E;
};

template <class T>
concept Described = requires { LayoutOf<T>::kBytes; };

template <class T>
void encode(const T& value, std::byte* to);
template <class T>
T decode(const std::byte* from);

namespace detail {

template <std::size_t I, class F, class Array>
inline void put_element(std::byte* to, const Array& array) {
  using E = typename IsArray<Array>::element;
  if constexpr (Described<E>) {
    encode(array[I], to + (F::kBit + I * F::kStride) / 8);
  } else {
    deposit<F::kBit + I * F::kStride, F::kWidth>(to, to_raw(array[I]));
  }
}
template <std::size_t I, class F, class Array>
inline void get_element(const std::byte* from, Array& array) {
  using E = typename IsArray<Array>::element;
  if constexpr (Described<E>) {
    array[I] = decode<E>(from + (F::kBit + I * F::kStride) / 8);
  } else {
    array[I] = from_raw<E>(extract<F::kBit + I * F::kStride, F::kWidth>(from));
  }
}

template <class F, class V>
inline void put(std::byte* to, const V& v) {
  if constexpr (std::is_same_v<V, Gid>) {
    std::memcpy(to + F::kBit / 8, v.bytes.data(), 16);
  } else if constexpr (Described<V>) {
    encode(v, to + F::kBit / 8);
  } else if constexpr (IsArray<V>::value) {
    if constexpr (F::kWidth == 8 && F::kStride == 8 && F::kBit % 8 == 0) {
      for (std::size_t i = 0; i < v.size(); ++i)
        to[F::kBit / 8 + i] = static_cast<std::byte>(to_raw(v[i]));
    } else {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (put_element<I, F>(to, v), ...);
      }(std::make_index_sequence<IsArray<V>::kCount>{});
    }
  } else {
    deposit<F::kBit, F::kWidth>(to, to_raw(v));
  }
}

template <class F, class V>
inline void take(const std::byte* from, V& v) {
  if constexpr (std::is_same_v<V, Gid>) {
    std::memcpy(v.bytes.data(), from + F::kBit / 8, 16);
  } else if constexpr (Described<V>) {
    v = decode<V>(from + F::kBit / 8);
  } else if constexpr (IsArray<V>::value) {
    using E = typename IsArray<V>::element;
    if constexpr (F::kWidth == 8 && F::kStride == 8 && F::kBit % 8 == 0) {
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = from_raw<E>(static_cast<std::uint64_t>(from[F::kBit / 8 + i]));
    } else {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (get_element<I, F>(from, v), ...);
      }(std::make_index_sequence<IsArray<V>::kCount>{});
    }
  } else {
    v = from_raw<V>(extract<F::kBit, F::kWidth>(from));
  }
}

}  // namespace detail

/// Writes every field of `value`; bits no field covers are left as they are.
/// Precondition: `to` has LayoutOf<T>::kBytes bytes.
template <class T>
inline void encode(const T& value, std::byte* to) {
  LayoutOf<T>::for_each(
      [&](auto field) { detail::put<decltype(field)>(to, value.*(field.kMember)); });
}

/// Reads every field. Precondition: `from` has LayoutOf<T>::kBytes bytes.
template <class T>
inline T decode(const std::byte* from) {
  T value;
  LayoutOf<T>::for_each(
      [&](auto field) { detail::take<decltype(field)>(from, value.*(field.kMember)); });
  return value;
}

/// Hands the field that is read into `Member` to `run`.
template <auto Member, class Do>
inline void visit_field(Do&& run) {
  using T = typename MemberTraits<decltype(Member)>::structure;
  LayoutOf<T>::for_each([&](auto field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field.kMember)>, decltype(Member)>) {
      if constexpr (decltype(field)::kMember == Member) run(field);
    }
  });
}

/// One field of the structure at `from`: `get<&PortInfo::lid>(bytes)`.
template <auto Member>
inline auto get(const std::byte* from) {
  typename MemberTraits<decltype(Member)>::type v{};
  visit_field<Member>([&](auto field) { detail::take<decltype(field)>(from, v); });
  return v;
}

/// Read-modify-write access to one structure inside a buffer:
/// `View<PortInfo>(bytes).set<&PortInfo::lid>(Lid{4})`. Touches only the named field, so bits that
/// this release does not know survive.
template <class T>
class View {
 public:
  explicit View(std::byte* bytes) : bytes_(bytes) {}

  template <auto Member>
  auto get() const {
    return wire::get<Member>(bytes_);
  }
  template <auto Member>
  void set(const typename MemberTraits<decltype(Member)>::type& v) {
    visit_field<Member>([&](auto field) { detail::put<decltype(field)>(bytes_, v); });
  }

 private:
  std::byte* bytes_;
};

}  // namespace ib::wire
