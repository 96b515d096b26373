// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SA component masks (IBA 15.2.1.1), from the same layouts as the codec. Plain equality only: what
// a selector means for MTU, rate and lifetime is the SA's business.
#pragma once

#include <cstdint>
#include <type_traits>

#include "libdiag/wire/sa_records.h"

namespace ib::wire {

namespace detail {

/// A nested structure has component bits of its own unless the whole of it is one component.
template <class F>
inline constexpr bool kHasOwnComponents =
    F::kSaBit < 0 && F::kShow == Show::Nested && Described<typename F::member_type>;

/// The elements of an array are components of their own, with consecutive bits from the field's;
/// text, raw bytes and keys are one component.
template <class F>
inline constexpr bool kHasElementComponents =
    IsArray<typename F::member_type>::value && F::kShow != Show::Text && F::kShow != Show::Raw &&
    F::kShow != Show::Secret;

/// The component bits of a field that has any.
template <class F>
constexpr std::uint64_t field_components() {
  if constexpr (F::kSaBit < 0) {
    return 0;
  } else if constexpr (kHasElementComponents<F>) {
    return ((std::uint64_t{1} << IsArray<typename F::member_type>::kCount) - 1) << F::kSaBit;
  } else {
    return std::uint64_t{1} << F::kSaBit;
  }
}

}  // namespace detail

/// True when every component of `record` that `mask` names equals that of `query`. Bits of reserved
/// or unknown components select nothing. PathRecord's ServiceID (bits 0 and 1) is compared whole.
template <class T>
bool matches(const T& record, const T& query, std::uint64_t mask) {
  bool same = true;
  LayoutOf<T>::for_each([&](auto field) {
    using F = decltype(field);
    if constexpr (detail::kHasOwnComponents<F>) {
      same = same && matches(record.*(F::kMember), query.*(F::kMember), mask);
    } else if constexpr (F::kSaBit >= 0 && detail::kHasElementComponents<F>) {
      const auto& have = record.*(F::kMember);
      const auto& want = query.*(F::kMember);
      for (std::size_t i = 0; i < have.size(); ++i)
        if ((mask >> (static_cast<unsigned>(F::kSaBit) + i) & 1) != 0)
          same = same && have[i] == want[i];
    } else if constexpr (F::kSaBit >= 0) {
      if ((mask >> F::kSaBit & 1) != 0) same = same && record.*(F::kMember) == query.*(F::kMember);
    }
  });
  return same;
}

/// Every component bit that T's layout knows.
template <class T>
constexpr std::uint64_t all_components() {
  std::uint64_t mask = 0;
  LayoutOf<T>::for_each([&](auto field) {
    using F = decltype(field);
    if constexpr (detail::kHasOwnComponents<F>) {
      mask |= all_components<typename F::member_type>();
    } else {
      mask |= detail::field_components<F>();
    }
  });
  return mask;
}

/// The component bit of a field (of an array: all of its elements'):
/// component<&PathRecord::dgid>(), component<&NodeInfo::node_guid>() in a NodeRecord. The members
/// of nested structures carry the bits of the record that nests them.
template <auto Member>
constexpr std::uint64_t component() {
  std::uint64_t mask = 0;
  LayoutOf<typename MemberTraits<decltype(Member)>::structure>::for_each([&](auto field) {
    using F = decltype(field);
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(F::kMember)>, decltype(Member)>) {
      if constexpr (F::kMember == Member) mask = detail::field_components<F>();
    }
  });
  return mask;
}

}  // namespace ib::wire
