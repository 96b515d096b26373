// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Every described structure as run-time data: what text dump, JSON, `tap` and the tests walk. Built
// from the layouts at compile time, so that nothing is listed twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/wire/layout.h"
#include "libdiag/wire/mad.h"

namespace ib::wire {

struct StructureInfo;

struct FieldInfo {
  std::string_view name;  // the specification's
  Show show{Show::Decimal};
  std::size_t bit{};     // from the start of the structure
  std::size_t width{};   // bits an element
  std::size_t count{1};  // elements
  std::size_t stride{};  // bits between elements
  int sa_bit{-1};
  const StructureInfo* nested{nullptr};
};

struct StructureInfo {
  std::string_view name;
  std::string_view section;
  std::size_t bytes{};
  std::span<const FieldInfo> fields;
};

template <class T>
const StructureInfo& describe();

namespace detail {

template <class F>
constexpr FieldInfo field_info(const StructureInfo* nested) {
  using V = typename F::member_type;
  FieldInfo info{F::name(), F::kShow, F::kBit, F::kWidth, 1, F::kStride, F::kSaBit, nested};
  if constexpr (IsArray<V>::value) info.count = IsArray<V>::kCount;
  return info;
}

template <class F>
const StructureInfo* nested_of() {
  using V = typename F::member_type;
  if constexpr (Described<V>) {
    return &describe<V>();
  } else if constexpr (IsArray<V>::value) {
    if constexpr (Described<typename IsArray<V>::element>)
      return &describe<typename IsArray<V>::element>();
  }
  return nullptr;
}

template <class T>
const std::vector<FieldInfo>& fields_of() {
  static const std::vector<FieldInfo> fields = [] {
    std::vector<FieldInfo> out;
    LayoutOf<T>::for_each([&](auto field) {
      out.push_back(field_info<decltype(field)>(nested_of<decltype(field)>()));
    });
    return out;
  }();
  return fields;
}

}  // namespace detail

template <class T>
const StructureInfo& describe() {
  static const StructureInfo info{LayoutOf<T>::name(), LayoutOf<T>::section(), LayoutOf<T>::kBytes,
                                  detail::fields_of<T>()};
  return info;
}

/// Every described structure, headers included.
std::span<const StructureInfo* const> structures();

/// An attribute of a management class. SMPs are listed under SubnLid and found under both classes.
struct AttributeInfo {
  MgmtClass mgmt_class;
  std::uint16_t id;
  const StructureInfo* structure;
  std::vector<Method> methods;  // requests it is defined for (IBA 14.2.3, 15.2.3, 16.1.2)
};
std::span<const AttributeInfo> attributes();
/// Null for what is not described here.
const AttributeInfo* find_attribute(MgmtClass c, std::uint16_t id);

/// "SubnAdm", "Get", "PortInfo" and the like; empty when unknown.
std::string_view class_name(MgmtClass c);
std::string_view method_name(Method m);
std::string_view attribute_name(MgmtClass c, std::uint16_t id);

/// Names of an enumeration's values (Show::Named) or a mask's bits (Show::Flags: value is one bit),
/// by the field's name; empty when the field has none.
std::span<const NamedValue> names_of(std::string_view field);
/// The name of one value; empty when it has none.
std::string_view value_name(std::string_view field, std::uint64_t value);

// ---- values
// In all of these `bytes` holds the structure from its first byte; what lies beyond its end reads
// as zero, so a truncated buffer is harmless.

struct FormatOptions {
  bool secrets{false};  // show keys
};

/// The bits of element `index` of an integer field of at most 64 bits.
std::uint64_t raw_value(const FieldInfo& field, std::span<const std::byte> bytes,
                        std::size_t index = 0);
/// The reverse, for a field of at most 64 bits that lies within `bytes`; other bits are left alone.
void set_raw_value(const FieldInfo& field, std::span<std::byte> bytes, std::size_t index,
                   std::uint64_t value);
/// Characters, raw bytes and keys are one value whatever their count.
bool is_one_value(const FieldInfo& field);
/// One element as text: "Active", "0x0002c903...", "fe80::1"; printable whatever was on the wire.
std::string format_value(const FieldInfo& field, std::span<const std::byte> bytes,
                         std::size_t index = 0, const FormatOptions& options = {});

struct FieldValue {
  const FieldInfo* field{};
  std::string name;     // "LinkWidthActive", "GUID[3]", "NodeInfo.NodeGUID"
  std::string text;     // as format_value
  std::uint64_t raw{};  // 0 for what is not an integer
};
/// Every value of the structure in the order of the specification, nested ones in place.
std::vector<FieldValue> values(const StructureInfo& structure, std::span<const std::byte> bytes,
                               const FormatOptions& options = {});

/// One line a value, "PortState:.......................Active", as the stock tools align theirs.
std::string dump(const StructureInfo& structure, std::span<const std::byte> bytes,
                 const FormatOptions& options = {});
/// A whole MAD: header, class header, attribute.
std::string dump(const Mad& mad, const FormatOptions& options = {});

/// JSON object text of one structure (json.cpp). Numbers and booleans where the value is a count or
/// a flag; strings for names, GUIDs, GIDs and hex; {"value","names"} for masks; arrays for arrays;
/// null for a secret that is not to be shown.
std::string to_json(const StructureInfo& structure, std::span<const std::byte> bytes,
                    const FormatOptions& options = {});

/// The same for a value.
template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> bytes(LayoutOf<T>::kBytes);
  encode(value, bytes.data());
  return bytes;
}
template <class T>
std::string dump(const T& value, const FormatOptions& options = {}) {
  return dump(describe<T>(), bytes_of(value), options);
}
template <class T>
std::string to_json(const T& value, const FormatOptions& options = {}) {
  return to_json(describe<T>(), bytes_of(value), options);
}

}  // namespace ib::wire
