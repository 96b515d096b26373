// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/explain_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/names.h"
#include "libdiag/report/shapes.h"
#include "libdiag/tables/vl_share.h"
#include "libdiag/wire/rates.h"
#include "sm/daemon/failure_documents.h"
#include "sm/device/end_port_facts.h"
#include "sm/device/tables/kinds.h"
#include "sm/sa/paths/explain.h"

namespace sm::daemon {
namespace {

using ib::fabric::PortRef;

constexpr std::uint8_t kVlDrops = 15;

/// The end port that a word names, as all programs read it (libdiag/fabric/names.h): a LID, the
/// GUID of a port, or NODE[:PORT].
class Ends {
 public:
  explicit Ends(const ExplainView& subnet) : paths_(subnet.paths()), fabric_(subnet.fabric()) {}

  ib::Result<const sa::EndPort*> find(const std::string& word) const {
    if (const auto lid = ib::fabric::read_lid_word(word)) {
      if (!*lid) return tl::unexpected<ib::Error>(lid->error());
      if (const auto* port = paths_.find(**lid)) return port;
      return ib::fail(ib::ErrorKind::NotFound, "no port has LID " + to_string(**lid));
    }
    ib::Guid guid;
    if (ib::parse_guid(word, guid))
      if (const auto* port = paths_.find(guid)) return port;
    const auto named = ib::fabric::find_node_and_port(fabric_, word);
    if (!named) return tl::unexpected<ib::Error>(named.error());
    if (const auto* port = of_node(named->node, named->port)) return port;
    return ib::fail(ib::ErrorKind::NotFound,
                    fmt::format("'{}' has no port with a LID", ib::printable(word)));
  }

 private:
  /// The first of its ports that has a LID, or that of this number; a switch has one for all.
  const sa::EndPort* of_node(ib::fabric::NodeIndex node, std::optional<std::uint8_t> number) const {
    const bool any = !number || fabric_.node(node).is_switch();
    const auto at = std::ranges::find_if(paths_.end_ports(), [&](const sa::EndPort& e) {
      return e.port.node == node && (any || e.port.port == *number);
    });
    return at == paths_.end_ports().end() ? nullptr : &*at;
  }

  const sa::Paths& paths_;
  const ib::fabric::Fabric& fabric_;
};

/// One link of the way.
struct Hop {
  PortRef from, to;
  std::optional<std::uint8_t> vl;  // none: SL2VL is left to the device
  unsigned vls{};                  // data VLs that the link operates
  std::optional<ib::tables::VlShare> share;
  std::uint8_t high_limit{};
  bool drops() const { return vl == kVlDrops; }
};

std::vector<Hop> hops_of(const ExplainView& subnet, const sa::ExplainedPath& explained) {
  std::vector<Hop> hops;
  for (const auto& step : explained.way) {
    if (step.exit == 0) continue;
    Hop hop{{step.node, step.exit}, subnet.fabric().port(step.node, step.exit).peer, {}, 0, {}, 0};
    const VlTables& tables = subnet.vl_tables();
    hop.vls = tables.data_vls(hop.from);
    hop.high_limit = tables.high_limit(hop.from);
    if (const auto table = tables.sl_to_vl(hop.from, step.entry))
      hop.vl = table->vl[explained.path->sl.value];
    if (hop.vl && !hop.drops()) {
      const auto low = tables.arbitration(hop.from, device::kArbitrationLow);
      const auto high = tables.arbitration(hop.from, device::kArbitrationHigh);
      if (!low.empty() || !high.empty()) hop.share = ib::tables::vl_share(*hop.vl, low, high);
    }
    hops.push_back(hop);
  }
  return hops;
}

/// What is said of one request.
struct Report {
  const ExplainView& subnet;
  const sa::EndPort &from, &to;
  sa::ExplainedPath explained;
  std::vector<Hop> hops;

  bool works() const {
    return explained.path && std::ranges::none_of(hops, [](const Hop& h) { return h.drops(); });
  }
  const std::string& name(const sa::EndPort& end) const {
    return subnet.fabric().node(end.port.node).name();
  }
};

/// The limit of the path's SL at the sender, by the enhanced QoS policy.
void add_sl_rate(const RateRules& limited, Report& report) {
  const auto& rates = limited.policy;
  if (!rates || !report.explained.path) return;
  const auto facts = end_port_facts(report.subnet.fabric(), report.from.port, false);
  const policy::SlRates& limits = rates->rates_of(facts);
  const auto sl = report.explained.path->sl.value;
  if (limits[sl] == 0) return;
  const auto& rules = rates->file.rules;
  const auto rule = std::ranges::find_if(rules, [&](const auto& r) { return &r.rates == &limits; });
  report.explained.reasons.push_back({"rate of the SL", fmt::format("{} Mb/s", limits[sl]),
                                      rule == rules.end()
                                          ? limited.file + " (default)"
                                          : fmt::format("{}:{}", limited.file, rule->place.line)});
}

std::string end_text(const ExplainView& subnet, PortRef port) {
  const auto& f = subnet.fabric();
  return fmt::format("LID {} port {} {}", f.port(ib::fabric::end_port_of(f, port)).lid.value,
                     port.port, ib::printable(f.node(port.node).name()));
}

std::string hop_text(const ExplainView& subnet, const Hop& hop) {
  const auto& port = subnet.fabric().port(hop.from);
  std::string text =
      fmt::format("{} -> {}: {} {}, MTU {}, ", end_text(subnet, hop.from), end_text(subnet, hop.to),
                  ib::wire::width_name(port.width), ib::wire::speed_name(port.speed),
                  ib::wire::mtu_bytes(subnet.paths().cable(hop.from).mtu));
  if (!hop.vl) return text + "VL as the device maps it";
  if (hop.drops()) return text + "VL 15: packets are dropped here";
  text += fmt::format("VL {} of {}", *hop.vl, hop.vls);
  if (hop.share) text += ", " + to_string(*hop.share);
  if (hop.share && hop.share->high != 0) text += fmt::format(" (limit {})", hop.high_limit);
  return text;
}

std::string text_of(const Report& report) {
  std::string text = fmt::format("{} (LID {}) -> {} (LID {}): {} link{}\n",
                                 ib::printable(report.name(report.from)), report.from.lid.value,
                                 ib::printable(report.name(report.to)), report.to.lid.value,
                                 report.hops.size(), report.hops.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < report.hops.size(); ++i)
    text += fmt::format("{:3}  {}\n", i + 1, hop_text(report.subnet, report.hops[i]));
  for (const sa::PathReason& r : report.explained.reasons)
    text += fmt::format("{} {}: {}\n", r.subject, r.value, r.reason);
  if (!report.explained.refusal.empty()) text += "NO PATH: " + report.explained.refusal + "\n";
  return text;
}

void write_hop(ib::report::JsonWriter& json, const ExplainView& subnet, const Hop& hop) {
  const auto& f = subnet.fabric();
  const auto& port = f.port(hop.from);
  json.begin_object();
  write_link_ends(json, ib::report::port_shape(f, hop.from), ib::report::port_shape(f, hop.to));
  json.field("width", ib::wire::width_name(port.width));
  json.field("speed", ib::wire::speed_name(port.speed));
  json.field("mtu", ib::wire::mtu_bytes(subnet.paths().cable(hop.from).mtu));
  json.field("vl", hop.vl).field("vls", hop.vls).field("high_limit", hop.high_limit);
  json.key("weight");
  if (hop.share) {
    json.begin_object().field("low", hop.share->low).field("low_total", hop.share->low_total);
    json.field("high", hop.share->high).field("high_total", hop.share->high_total).end_object();
  } else {
    json.null();
  }
  json.end_object();
}

std::string json_of(const Report& report, const std::string& version) {
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kExplainSchema, "ibsm", version, true, {}});
  for (const auto& [key, end] :
       {std::pair{"source", &report.from}, std::pair{"destination", &report.to}}) {
    auto shape = ib::report::port_shape(report.subnet.fabric(), end->port);
    shape.port_guid = end->guid;  // of a port behind it, where it is virtual
    shape.lid = end->lid;
    json.key(key).begin_object();
    write_port(json, shape);
    json.end_object();
  }
  json.key("links").begin_array(ib::report::JsonWriter::Items::Lines);
  for (const Hop& hop : report.hops) write_hop(json, report.subnet, hop);
  json.end_array().key("reasons").begin_array(ib::report::JsonWriter::Items::Lines);
  for (const sa::PathReason& r : report.explained.reasons)
    json.begin_object()
        .field("subject", r.subject)
        .field("value", r.value)
        .field("reason", r.reason)
        .end_object();
  json.end_array();
  const auto& refusal = report.explained.refusal;
  json.field("refusal", refusal.empty() ? std::nullopt : std::optional(refusal));
  json.end_object();
  return json.take();
}

}  // namespace

ib::Result<control::Answer> explain_path(const ExplainView& subnet, const ExplainRequest& request,
                                         const RateRules& rates, const std::string& version) {
  const Ends ends(subnet);
  const auto from = ends.find(request.source), to = ends.find(request.destination);
  if (!from) return tl::unexpected<ib::Error>(from.error());
  if (!to) return tl::unexpected<ib::Error>(to.error());
  Report report{subnet,
                **from,
                **to,
                sa::explain(subnet.world(), subnet.rules(), **from, **to, request.traffic),
                {}};
  if (report.explained.path) report.hops = hops_of(subnet, report.explained);
  add_sl_rate(rates, report);
  return control::Answer{report.works() ? ib::cli::kExitGood : ib::cli::kExitFound,
                         request.json ? json_of(report, version) : text_of(report)};
}

namespace {

template <class T>
ib::Result<void> take(const control::Request& request, const char* option, std::uint64_t most,
                      std::optional<T>& to) {
  if (!request.has(option)) return {};
  std::uint64_t number = 0;
  if (!ib::parse_number(request.option(option), most, number))
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("explain --{}: expected a number up to {}, got '{}'", option, most,
                                ib::printable(request.option(option))));
  to = static_cast<T>(number);
  return {};
}

}  // namespace

ib::Result<ExplainRequest> read_explain_request(const control::Request& request) {
  if (request.words.size() != 2) return ib::fail(ib::ErrorKind::Usage, "expected explain SRC DST");
  ExplainRequest out{request.words[0], request.words[1], {}, request.has("json")};
  if (auto taken = take(request, "service-id", UINT64_MAX, out.traffic.service_id); !taken)
    return tl::unexpected<ib::Error>(std::move(taken.error()));
  if (auto taken = take(request, "qos-class", kQosClassMax, out.traffic.qos_class); !taken)
    return tl::unexpected<ib::Error>(std::move(taken.error()));
  if (auto taken = take(request, "pkey", 0xFFFF, out.traffic.p_key); !taken)
    return tl::unexpected<ib::Error>(std::move(taken.error()));
  if (out.traffic.p_key) out.traffic.p_key = ib::PKey{*out.traffic.p_key}.base();
  return out;
}

}  // namespace sm::daemon
