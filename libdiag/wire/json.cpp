// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// JSON of the described structures; the only file of the room that sees nlohmann/json.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "libdiag/wire/registry.h"

namespace ib::wire {
namespace {

using Json = nlohmann::ordered_json;

Json object_of(const StructureInfo& structure, std::span<const std::byte> bytes,
               const FormatOptions& options);

Json element_of(const FieldInfo& field, std::span<const std::byte> bytes, std::size_t index,
                const FormatOptions& options) {
  if (field.nested) {
    const std::size_t at = (field.bit + index * field.stride) / 8;
    return object_of(*field.nested, bytes.subspan(std::min(at, bytes.size())), options);
  }
  if (field.show == Show::Secret && !options.secrets) return nullptr;
  if (field.show == Show::Decimal) {
    const std::uint64_t raw = raw_value(field, bytes, index);
    return field.width == 1 ? Json(raw != 0) : Json(raw);
  }
  if (field.show == Show::Flags) {
    const std::uint64_t raw = raw_value(field, bytes, index);
    Json names = Json::array();
    for (const NamedValue& name : names_of(field.name))
      if ((raw & name.value) != 0) names.push_back(name.name);
    return Json{{"value", raw}, {"names", std::move(names)}};
  }
  return format_value(field, bytes, index, options);
}

Json object_of(const StructureInfo& structure, std::span<const std::byte> bytes,
               const FormatOptions& options) {
  Json object = Json::object();
  for (const FieldInfo& field : structure.fields) {
    if (is_one_value(field) || field.count == 1) {
      object[std::string(field.name)] = element_of(field, bytes, 0, options);
      continue;
    }
    Json list = Json::array();
    for (std::size_t i = 0; i < field.count; ++i)
      list.push_back(element_of(field, bytes, i, options));
    object[std::string(field.name)] = std::move(list);
  }
  return object;
}

}  // namespace

std::string to_json(const StructureInfo& structure, std::span<const std::byte> bytes,
                    const FormatOptions& options) {
  return object_of(structure, bytes, options).dump();
}

}  // namespace ib::wire
