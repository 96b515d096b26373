// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ibpath explain prints.
#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/report/shapes.h"
#include "libdiag/wire/rates.h"
#include "tools/ibpath/explain.h"

namespace ibpath {
namespace {

std::string end_text(const LinkEnd& end) {
  return fmt::format("LID {} port {} {}", end.lid.value, end.port, ib::printable(end.name));
}

std::string link_speed(const ib::wire::PortInfo& port) {
  return fmt::format("{} {}", ib::wire::width_name(ib::wire::active_width(port)),
                     ib::wire::speed_name(ib::wire::active_speed(port)));
}

unsigned link_mtu(const WayLink& link) {
  return ib::wire::mtu_bytes(std::min(link.from.info.neighbor_mtu, link.to.info.neighbor_mtu));
}

void write_share(ib::report::JsonWriter& json, const std::optional<ib::tables::VlShare>& share) {
  if (!share) {
    json.null();
    return;
  }
  json.begin_object().field("low", share->low).field("low_total", share->low_total);
  json.field("high", share->high).field("high_total", share->high_total).end_object();
}

std::string vl_text(const WayLink& link) {
  if (!link.vl) return "";
  const auto vls = ib::wire::data_vls(link.from.info.operational_vls);
  std::string text = fmt::format(", VL {}", *link.vl);
  if (vls != 0) text += fmt::format(" of {}", vls);
  if (link.share) text += ", " + to_string(*link.share);
  if (link.share && link.share->high != 0)
    text += fmt::format(" (limit {})", link.from.info.vl_high_limit);
  return text;
}

ib::report::PortShape shape_of(const LinkEnd& end) {
  return {end.type, end.node_guid, end.name, end.port, end.port_guid, end.lid};
}

void write_way(ib::report::JsonWriter& json, const Way& way) {
  json.begin_array();
  for (const WayLink& link : way.links) {
    json.begin_object();
    write_link_ends(json, shape_of(link.from), shape_of(link.to));
    json.field("width", ib::wire::width_name(ib::wire::active_width(link.from.info)));
    json.field("speed", ib::wire::speed_name(ib::wire::active_speed(link.from.info)));
    json.field("mtu", link_mtu(link)).field("vl", link.vl);
    json.field("vls", ib::wire::data_vls(link.from.info.operational_vls));
    json.field("high_limit", link.from.info.vl_high_limit).key("weight");
    write_share(json, link.share);
    json.end_object();
  }
  json.end_array();
}

void write_reason(ib::report::JsonWriter& json, const Reason& r) {
  json.field("value", r.value).field("reason", r.reason).field("link", r.link);
}

void write_explanation(ib::report::JsonWriter& json, const Explanation& explanation) {
  const PathFacts& f = explanation.facts;
  json.begin_object();
  json.field("slid", f.path.slid).field("source_name", f.source_name);
  json.field("dlid", f.path.dlid).field("destination_name", f.destination_name);
  json.key("links");
  write_way(json, f.there);
  json.key("links_back");
  write_way(json, f.back);
  json.key("reasons").begin_array();
  for (const Reason& r : explanation.reasons) {
    json.begin_object().field("subject", r.subject);
    write_reason(json, r);
    json.field("wrong", r.wrong).end_object();
  }
  json.end_array().end_object();
}

/// The ends of the path and its links.
std::string way_text(const PathFacts& facts) {
  const auto count = facts.there.links.size();
  std::string text =
      fmt::format("{} (LID {}) -> {} (LID {}): {} link{}\n", ib::printable(facts.source_name),
                  facts.path.slid.value, ib::printable(facts.destination_name),
                  facts.path.dlid.value, count, count == 1 ? "" : "s");
  for (std::size_t i = 0; i < count; ++i) {
    const WayLink& link = facts.there.links[i];
    text +=
        fmt::format("{:3}  {} -> {}: {}, MTU {}{}\n", i + 1, end_text(link.from), end_text(link.to),
                    link_speed(link.from.info), link_mtu(link), vl_text(link));
  }
  return text;
}

}  // namespace

std::string explain_text(const PathFacts& facts, const std::vector<Reason>& reasons) {
  std::string text = way_text(facts);
  for (const Reason& r : reasons)
    text += fmt::format("{}{} {}: {}\n", r.wrong ? "WRONG " : "", r.subject, r.value,
                        ib::printable(r.reason));
  return text;
}

std::string unmet_text(const Unmet& unmet) {
  std::string text = "without the conditions: " + way_text(unmet.without.facts);
  for (const Reason& r : unmet.conditions)
    text += fmt::format("UNMET {}: {}{}{}\n", ib::printable(r.subject), r.value,
                        r.value.empty() ? "" : ": ", ib::printable(r.reason));
  if (unmet.conditions.empty())
    text += "each condition alone is met by a path, all of them together by none\n";
  return text;
}

std::string explain_json(const std::vector<Explanation>& explained,
                         const std::optional<Unmet>& unmet, const std::string& version) {
  ib::report::JsonWriter json;
  ib::report::Envelope envelope;
  envelope.schema = kSchema;
  envelope.tool = kProgram;
  envelope.version = version;
  ib::report::begin_document(json, envelope);
  json.key("explained").begin_array(ib::report::JsonWriter::Items::Lines);
  for (const Explanation& explanation : explained) write_explanation(json, explanation);
  json.end_array();
  if (unmet) {
    json.key("without");
    write_explanation(json, unmet->without);
    json.key("unmet").begin_array(ib::report::JsonWriter::Items::Lines);
    for (const Reason& r : unmet->conditions) {
      json.begin_object().field("condition", r.subject);
      write_reason(json, r);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return json.take();
}

}  // namespace ibpath
