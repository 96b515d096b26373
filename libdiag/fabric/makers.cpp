// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/makers.h"

#include <algorithm>
#include <cstdio>

namespace ib::fabric {
namespace {

struct Maker {
  std::uint32_t oui;
  std::string_view name;
};

/// In the order of their numbers. Those that are on devices for InfiniBand: opensm's osm_base.h
/// ("Known device vendor ID and GUID OUIs"), with the names of the IEEE's list where they are still
/// called so.
constexpr Maker kMakers[] = {
    {0x0001FF, "DDN"},        {0x000255, "IBM"},         {0x0002C9, "Mellanox"},
    {0x0003BA, "Sun"},        {0x000453, "YottaYotta"},  {0x0005AD, "Topspin"},
    {0x000617, "RedSwitch"},  {0x00066A, "SilverStorm"}, {0x00084E, "DivergeNet"},
    {0x0008F1, "Voltaire"},   {0x000B5D, "Fujitsu"},     {0x000B8C, "Flextronics"},
    {0x000BC1, "Bay Micro"},  {0x001175, "PathScale"},   {0x00119F, "Bull"},
    {0x001393, "Panta"},      {0x001397, "Xsigo"},       {0x001405, "OpenIB"},
    {0x0016A1, "3Leaf"},      {0x001708, "HP"},          {0x001777, "Obsidian"},
    {0x00188B, "Dell"},       {0x0018FE, "HP"},          {0x0019BB, "HP"},
    {0x002128, "Sun"},        {0x00237D, "HP"},          {0x00258B, "Mellanox"},
    {0x003048, "Supermicro"}, {0x0030D3, "Agilent"},     {0x005045, "Rioworks"},
    {0x005076, "IBM"},        {0x00A0B8, "LSI Logic"},   {0x00D0B7, "Intel"},
    {0x00E000, "Fujitsu"},    {0x080038, "Bull"},        {0x248A07, "Mellanox"},
    {0x506B4B, "Mellanox"},   {0x5CF3FC, "IBM"},         {0x7CFE90, "Mellanox"},
    {0x98039B, "Mellanox"},   {0xE41D2D, "Mellanox"},    {0xEC0D9A, "Mellanox"},
    {0xF45214, "Mellanox"},
};
static_assert(std::ranges::is_sorted(kMakers, {}, &Maker::oui));

}  // namespace

std::string_view maker(std::uint32_t vendor_id) {
  const auto at = std::ranges::lower_bound(kMakers, vendor_id, {}, &Maker::oui);
  return at != std::end(kMakers) && at->oui == vendor_id ? at->name : std::string_view{};
}

std::string device_label(std::uint32_t vendor_id, std::uint16_t device_id) {
  std::string label(maker(vendor_id));
  if (label.empty()) {
    char text[20];
    std::snprintf(text, sizeof text, "vendor 0x%06x", static_cast<unsigned>(vendor_id));
    label = text;
  }
  return label + " device " + std::to_string(device_id);
}

}  // namespace ib::fabric
