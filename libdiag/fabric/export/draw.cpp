// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Names from the wire reach Graphviz in three forms, each escaped here: HTML-like labels
// (`html()`), plain strings with backslash and entity escapes (`plain()`), and ids, which are ours.
#include "libdiag/fabric/export/draw.h"

#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "libdiag/base/text.h"

namespace ib::fabric {
namespace {

using wire::LinkSpeed;

// ---- escaping ----

/// printable() without the two noncharacters that XML forbids.
std::string xml_safe(std::string_view text) {
  std::string safe = printable(text);
  for (std::size_t at = 0; (at = safe.find("\xEF\xBF", at)) != std::string::npos; ++at) {
    if (at + 2 < safe.size() && static_cast<unsigned char>(safe[at + 2]) >= 0xBE) {
      safe.replace(at, 3, " ");
    }
  }
  return safe;
}

std::string html(std::string_view text) {
  std::string out;
  for (const char c : xml_safe(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\\':
        out += "&#92;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// For attributes of type escString. Graphviz would also decode entities, so '&' is one.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : xml_safe(text)) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

// ---- colours ----

const char* speed_colour(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::Sdr:
      return "#bcaaa4";
    case LinkSpeed::Ddr:
      return "#a1887f";
    case LinkSpeed::Qdr:
      return "#607d8b";
    case LinkSpeed::Fdr10:
      return "#4db6ac";
    case LinkSpeed::Fdr:
      return "#00897b";
    case LinkSpeed::Edr:
      return "#1e6fd9";
    case LinkSpeed::Hdr:
      return "#2e9e4f";
    case LinkSpeed::Ndr:
      return "#ef7d00";
    case LinkSpeed::Xdr:
      return "#8e3fc0";
    default:
      return "#212121";
  }
}
constexpr const char* kIdleColour = "#b0bec5";
/// Loads up to this percentage of the floor, the last without a limit.
struct LoadStep {
  unsigned percent;
  const char* colour;
};
constexpr LoadStep kLoadSteps[] = {
    {50, "#3b6fb6"}, {100, "#2a9d8f"}, {125, "#8ab440"}, {150, "#f0a020"}, {~0U, "#d62718"}};

std::size_t load_step(std::uint64_t load, std::uint64_t floor) {
  std::size_t step = 0;
  while (step + 1 < std::size(kLoadSteps) && load * 100 > floor * kLoadSteps[step].percent) ++step;
  return step;
}
std::string line_colour(const Picture& picture, const Bundle& bundle) {
  if (bundle.load == 0) return kIdleColour;
  return kLoadSteps[load_step(bundle.load, picture.load_floor)].colour;
}

constexpr const char* kDegradedColour = "#d50000";
constexpr const char* kChassisColour = "#f4f6f8";

const char* tier_colour(const Vertex& vertex) {
  static constexpr const char* kColours[] = {"#d7e8fa", "#fdebc8", "#f7d6dd", "#dcefd8", "#e6dcf3"};
  if (vertex.is_host) return "#ffffff";
  return kColours[vertex.tier % std::size(kColours)];
}

// ---- graph ----

struct CloseGraph {
  void operator()(Agraph_t* g) const { agclose(g); }
};
using Graph = std::unique_ptr<Agraph_t, CloseGraph>;

/// cgraph takes char* and copies.
char* c(const std::string& text) { return const_cast<char*>(text.c_str()); }
char* c(const char* text) { return const_cast<char*>(text); }

class GraphWriter {
 public:
  GraphWriter(const Picture& picture, const DrawOptions& options)
      : picture_(picture), dot_(layout_engine(picture, options) == "dot") {
    for (const Vertex& v : picture.vertices) widest_ = std::max(widest_, ++in_tier_[v.tier]);
    sideways_ = dot_ && widest_ > kWidestUpright;
    find_usual_numbers();
  }

  Graph write() {
    agseterr(AGERR);
    graph_.reset(agopen(c("fabric"), Agundirected, nullptr));
    declare_defaults();
    set_graph();
    for (const Vertex& vertex : picture_.vertices) add_node(vertex);
    for (const Bundle& bundle : picture_.bundles) add_edge(bundle);
    return std::move(graph_);
  }

 private:
  /// A tier of more boxes than this would make a strip: tiers become columns.
  static constexpr std::size_t kWidestUpright = 14;
  static constexpr std::size_t kLabelledEdgesMax = 60;
  static constexpr std::size_t kListedAlike = 36;

  void declare(int kind, const char* name, const char* value) {
    agattr(graph_.get(), kind, c(name), c(value));
  }
  void set(void* object, const char* name, const std::string& value) {
    agsafeset(object, c(name), c(value), c(""));
  }
  void set_html(void* object, const char* name, const std::string& value) {
    char* text = agstrdup_html(graph_.get(), c(value));
    agsafeset(object, c(name), text, c(""));
    agstrfree(graph_.get(), text);
  }

  void declare_defaults() {
    declare(AGRAPH, "fontname", "Helvetica,Arial,sans-serif");
    declare(AGRAPH, "bgcolor", "white");
    declare(AGRAPH, "label", "");
    declare(AGRAPH, "labelloc", "t");
    declare(AGRAPH, "labeljust", "l");
    declare(AGRAPH, "color", "#b0bec5");
    declare(AGRAPH, "style", "");
    declare(AGRAPH, "fillcolor", kChassisColour);
    declare(AGRAPH, "fontsize", "14");
    declare(AGRAPH, "tooltip", "");
    declare(AGRAPH, "pad", "0.3");
    declare(AGNODE, "fontname", "Helvetica,Arial,sans-serif");
    declare(AGNODE, "fontsize", "11");
    declare(AGNODE, "shape", "plain");
    declare(AGNODE, "label", "");
    declare(AGNODE, "tooltip", "");
    declare(AGEDGE, "fontname", "Helvetica,Arial,sans-serif");
    declare(AGEDGE, "fontsize", "9");
    declare(AGEDGE, "color", "#212121");
    declare(AGEDGE, "penwidth", "1");
    declare(AGEDGE, "style", "solid");
    declare(AGEDGE, "label", "");
    declare(AGEDGE, "tooltip", "");
    declare(AGEDGE, "minlen", "1");
    declare(AGEDGE, "constraint", "true");
    declare(AGEDGE, "tailport", "");
    declare(AGEDGE, "headport", "");
    declare(AGEDGE, "headlabel", "");
    declare(AGEDGE, "labelangle", "-25");
    declare(AGEDGE, "labeldistance", "1");
    declare(AGEDGE, "labelfontsize", "8");
    declare(AGEDGE, "labelfontcolor", "#263238");
  }

  void set_graph() {
    Agraph_t* g = graph_.get();
    if (dot_) {
      set(g, "rankdir", sideways_ ? "LR" : "BT");
      const bool many = picture_.bundles.size() > 150;
      set(g, "splines", many ? "line" : "true");
      set(g, "nodesep", sideways_ ? "0.06" : "0.25");
      set(g, "ranksep", sideways_ ? (many ? "5.5" : "3.0") : "1.2");
      set(g, "outputorder", "edgesfirst");
      // Bounds on the network simplex of big graphs.
      set(g, "nslimit", "20");
      set(g, "nslimit1", "50");
      set(g, "mclimit", many ? "0.7" : "1.5");
    } else {
      set(g, "layout", "sfdp");
      set(g, "overlap", "prism");
      set(g, "splines", "line");
      set(g, "outputorder", "edgesfirst");
      set(g, "sep", "+6");
    }
    set_html(g, "label", heading());
  }

  // ---- heading and legend ----

  static std::string swatch(const std::string& colour, unsigned height) {
    return "<TD FIXEDSIZE=\"TRUE\" WIDTH=\"34\" HEIGHT=\"" + std::to_string(height) +
           "\" BGCOLOR=\"" + colour + "\"></TD>";
  }
  static std::string entry(const std::string& colour, unsigned height, const std::string& text) {
    return "<TD BORDER=\"0\"><TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"4\"><TR>" +
           swatch(colour, height) + "<TD ALIGN=\"LEFT\">" + html(text) + "</TD></TR></TABLE></TD>";
  }

  std::string heading() const {
    std::string text = "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"2\">";
    text += "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"26\"><B>" +
            html(picture_.title.empty() ? "InfiniBand fabric" : picture_.title) +
            "</B></FONT></TD></TR>";
    text += "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"15\">" + html(picture_.summary) +
            "</FONT></TD></TR>";
    // Graphviz takes no row without a cell; where there is no cable there is nothing to explain.
    if (const std::string cells = legend(); !cells.empty()) {
      text += "<TR><TD ALIGN=\"LEFT\"><TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"2\"><TR>" +
              cells + "</TR></TABLE></TD></TR>";
    }
    return text + "</TABLE>";
  }

  /// What a line without a number stands for.
  std::string unmarked() const {
    if (!counts_beside_lines() || !dot_) return "";
    std::string text;
    for (const auto& [tiers, cables] : usual_) {
      if (cables == 1) continue;
      text += (text.empty() ? "; unmarked: " : ", ") + std::to_string(cables) + " from tier " +
              std::to_string(tiers.first + 1) + " to " + std::to_string(tiers.second + 1);
    }
    return text.empty() ? "; unmarked: 1" : text + ", else 1";
  }

  /// Steps of load, each with the number of its lines.
  std::string load_legend() const {
    std::size_t idle = 0;
    std::array<std::size_t, std::size(kLoadSteps)> lines{};
    for (const Bundle& b : picture_.bundles)
      ++(b.load == 0 ? idle : lines[load_step(b.load, picture_.load_floor)]);
    std::string text = "<TD BORDER=\"0\">routes over a link, floor " +
                       std::to_string(picture_.load_floor) + ":</TD>";
    if (idle > 0) text += entry(kIdleColour, 4, "0 (" + std::to_string(idle) + ")");
    for (std::size_t step = 0; step < lines.size(); ++step)
      if (lines[step] > 0) {
        const bool last = step + 1 == lines.size();
        const unsigned percent = kLoadSteps[last ? step - 1 : step].percent;
        text += entry(kLoadSteps[step].colour, 4,
                      (last ? "above " : "to ") + std::to_string(percent) + "% (" +
                          std::to_string(lines[step]) + ")");
      }
    return text;
  }

  std::string legend() const {
    std::string text;
    if (picture_.layered) {
      std::map<unsigned, const Vertex*> sample;
      for (const Vertex& v : picture_.vertices) {
        if (!v.is_host) sample.emplace(v.tier, &v);
      }
      std::size_t tier = 0;
      for (const auto& [ignored, vertex] : sample) {
        if (tier >= picture_.switches_in_tier.size()) break;
        const std::size_t n = picture_.switches_in_tier[tier];
        text += entry(tier_colour(*vertex), 16,
                      "tier " + std::to_string(tier + 1) + ": " + std::to_string(n) +
                          (n == 1 ? " switch" : " switches"));
        ++tier;
      }
    }
    if (picture_.by_load) text += load_legend();
    std::map<std::pair<LinkSpeed, wire::LinkWidth>, std::size_t> speeds;
    std::size_t degraded = 0;
    unsigned most = 0;
    for (const Bundle& b : picture_.bundles) {
      (b.degraded ? degraded : speeds[{b.speed, b.width}]) += b.cables;
      most = std::max(most, b.cables);
    }
    for (const auto& [kind, cables] : speeds) {
      if (picture_.by_load) break;
      text += entry(speed_colour(kind.first), 4,
                    std::string(wire::width_name(kind.second)) +
                        std::string(wire::speed_name(kind.first)) + " (" + std::to_string(cables) +
                        ")");
    }
    if (degraded > 0 && picture_.by_load) {
      text += "<TD BORDER=\"0\">dashed: degraded (" + std::to_string(degraded) + ")</TD>";
    } else if (degraded > 0) {
      text += entry(kDegradedColour, 4, "degraded, dashed (" + std::to_string(degraded) + ")");
    }
    if (most > 1) {
      text += "<TD BORDER=\"0\">line width: 1 to " + std::to_string(most) + " cables in parallel" +
              unmarked() + "</TD>";
    }
    return text;
  }

  // ---- boxes ----

  Agraph_t* place_of(const Vertex& vertex) {
    if (vertex.chassis == kNoChassis || !dot_) return graph_.get();
    Agraph_t*& cluster = clusters_[vertex.chassis];
    if (cluster == nullptr) {
      const Chassis& chassis = picture_.chassis[vertex.chassis];
      cluster = agsubg(graph_.get(), c("cluster_" + to_string(chassis.system_image_guid)), 1);
      set(cluster, "label",
          plain(chassis.name + ": " + std::to_string(chassis.switches) + " switch chips"));
      set(cluster, "style", "filled,rounded");
      set(cluster, "fontsize", "16");
      set(cluster, "margin", "12");  // points; the root's would be inches of paper
      set(cluster, "tooltip", plain(chassis.name));
    }
    return cluster;
  }

  void add_node(const Vertex& vertex) {
    Agnode_t* node = agnode(place_of(vertex), c(vertex.id), 1);
    nodes_.push_back(node);
    if (vertex.is_host) {
      set(node, "shape", "box");
      set(node, "height", "0.2");
      set(node, "margin", "0.05,0.02");
      set(node, "label", plain(vertex.name));
    } else {
      set_html(node, "label", box(vertex));
    }
    set(node, "tooltip", plain(tooltip(vertex)));
  }

  static std::string tooltip(const Vertex& vertex) {
    std::string text = vertex.name + " | " + vertex.id;
    if (vertex.members.size() > 1) {
      text += " and " + std::to_string(vertex.members.size() - 1) + " alike";
    }
    if (vertex.hosts > 0) text += " | hosts: " + std::to_string(vertex.hosts);
    if (vertex.uplinks > 0) text += " | cables up: " + std::to_string(vertex.uplinks);
    return text;
  }

  static std::string cell(const std::string& content, const std::string& attributes = "") {
    return "<TD " + attributes + ">" + content + "</TD>";
  }

  /// Columns of a tier line up: every cell of one kind is as wide as the widest can be.
  std::string width(const Vertex& v, unsigned points) const {
    return sideways_ && v.tier == 0 ? " WIDTH=\"" + std::to_string(points) + "\"" : "";
  }

  /// Tiers of few boxes get bigger ones, up to the height of the longest tier.
  unsigned padding(const Vertex& v) const {
    if (!sideways_) return 3;
    const double share = static_cast<double>(widest_) / static_cast<double>(in_tier_.at(v.tier));
    return static_cast<unsigned>(std::clamp((share * 22 - 16) / 2, 3.0, 14.0));
  }

  std::string box(const Vertex& v) const {
    std::vector<std::string> below;  // hosts
    std::vector<std::string> cells;
    const std::string fill = "BGCOLOR=\"" + std::string(tier_colour(v)) + "\"";
    if (v.hosts > 0 && !v.detail.empty()) {
      std::string hosts = std::to_string(v.hosts) + (v.hosts == 1 ? " host" : " hosts");
      if (v.hosts_slow > 0) {
        hosts += ", " + std::to_string(v.hosts_slow) + " slow";
        hosts = "<FONT COLOR=\"" + std::string(kDegradedColour) + "\">" + hosts + "</FONT>";
      }
      below.push_back(cell("<FONT COLOR=\"#37474f\">" + html(v.detail) + "</FONT>",
                           "BGCOLOR=\"white\" ALIGN=\"LEFT\"" + width(v, 235)));
      below.push_back(cell(hosts, "BGCOLOR=\"white\"" + width(v, 58)));
    }
    if (v.members.size() > 1 && v.members.size() <= kListedAlike && sideways_) {
      std::string list;
      for (const std::string& name : v.member_names) {
        list += (list.empty() ? "<B>" : "<BR/><B>") + html(name) + "</B>";
      }
      cells.push_back(cell(list, fill));
    } else {
      cells.push_back(cell("<B>" + html(v.name) + "</B>", fill + width(v, 120)));
    }
    if (v.members.size() > 1) {
      cells.push_back(cell(std::to_string(v.members.size()) + " alike", fill));
    }
    if (v.uplinks < v.uplinks_usual) {
      cells.push_back(cell("<FONT COLOR=\"" + std::string(kDegradedColour) + "\"><B>" +
                               std::to_string(v.uplinks) + " of " +
                               std::to_string(v.uplinks_usual) + " up</B></FONT>",
                           fill + width(v, 76)));
    } else if (v.uplinks > 0) {
      cells.push_back(cell(std::to_string(v.uplinks) + " up", fill + width(v, 76)));
    }
    std::string text = "<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" CELLPADDING=\"" +
                       std::to_string(padding(v)) + "\" COLOR=\"#78909c\">";
    if (sideways_) {
      text += "<TR>";
      for (const std::string& one : below) text += one;
      for (const std::string& one : cells) text += one;
      text += "</TR>";
    } else {
      for (const std::string& one : cells) text += "<TR>" + one + "</TR>";
      for (const std::string& one : below) text += "<TR>" + one + "</TR>";
    }
    return text + "</TABLE>";
  }

  // ---- lines ----

  void add_edge(const Bundle& bundle) {
    const Vertex& lower = picture_.vertices[bundle.lower];
    const Vertex& upper = picture_.vertices[bundle.upper];
    // A key of its own keeps bundles of two speeds between the same boxes apart.
    const std::string kind = std::string(wire::width_name(bundle.width)) +
                             std::string(wire::speed_name(bundle.speed)) +
                             (bundle.degraded ? " degraded" : "");
    Agedge_t* edge = agedge(graph_.get(), nodes_[bundle.lower], nodes_[bundle.upper], c(kind), 1);
    std::string colour = bundle.degraded ? kDegradedColour : speed_colour(bundle.speed);
    if (picture_.by_load) {
      colour = line_colour(picture_, bundle);
    } else if (picture_.bundles.size() > 150 && !bundle.degraded) {
      colour += "a0";
    }
    set(edge, "color", colour);
    if (bundle.degraded) set(edge, "style", "dashed");
    char width[16];
    std::snprintf(width, sizeof width, "%.1f",
                  std::min(6.0, 0.4 + 0.4 * (bundle.cables + (bundle.degraded ? 2 : 0))));
    set(edge, "penwidth", width);
    label_count(edge, bundle);
    std::string ports;
    for (std::size_t i = 0; i < std::min<std::size_t>(bundle.lower_ports.size(), 12); ++i) {
      ports += (i == 0 ? "" : ",") + std::to_string(bundle.lower_ports[i].port);
    }
    set(edge, "tooltip",
        plain(lower.name + " - " + upper.name + ": " + std::to_string(bundle.cables) + " x " +
              kind + (lower.members.size() == 1 ? ", ports " + ports : "") +
              (picture_.by_load ? ", routes: " + std::to_string(bundle.load) : "")));
    if (!dot_) return;
    if (lower.tier == upper.tier) {
      set(edge, "constraint", "false");
      return;
    }
    set(edge, "minlen", std::to_string(upper.tier - lower.tier));
    set(edge, "tailport", sideways_ ? "e" : "n");
    set(edge, "headport", sideways_ ? "w" : "s");
  }

  /// A label of the edge takes part in the layout; among many edges the number stands on the line
  /// near its upper end instead, at one of four distances so that neighbours do not cover it, and
  /// only where it is not what the legend calls usual.
  void label_count(Agedge_t* edge, const Bundle& bundle) {
    if (!counts_beside_lines()) {
      if (bundle.cables > 1) set(edge, "label", "\xC3\x97" + std::to_string(bundle.cables));
      return;
    }
    if (!dot_ || bundle.cables == usual_cables(bundle)) return;
    static constexpr const char* kDistances[] = {"3", "5", "7", "9"};
    set(edge, "headlabel", std::to_string(bundle.cables));
    set(edge, "labelangle", "0");
    set(edge, "labeldistance", kDistances[labels_at_[bundle.upper]++ % std::size(kDistances)]);
  }

  bool counts_beside_lines() const { return picture_.bundles.size() > kLabelledEdgesMax; }

  using Tiers = std::pair<unsigned, unsigned>;
  Tiers tiers_of(const Bundle& bundle) const {
    return {picture_.vertices[bundle.lower].tier, picture_.vertices[bundle.upper].tier};
  }
  unsigned usual_cables(const Bundle& bundle) const {
    const auto it = usual_.find(tiers_of(bundle));
    return it == usual_.end() ? 1 : it->second;
  }
  /// Between two tiers: the number that most of the bundles have, where most have the same.
  void find_usual_numbers() {
    std::map<Tiers, std::map<unsigned, std::size_t>> numbers;
    for (const Bundle& b : picture_.bundles) ++numbers[tiers_of(b)][b.cables];
    for (const auto& [tiers, counts] : numbers) {
      std::size_t all = 0;
      for (const auto& [ignored, n] : counts) all += n;
      for (const auto& [cables, n] : counts) {
        if (n * 5 > all * 3) usual_[tiers] = cables;
      }
    }
  }

  const Picture& picture_;
  bool dot_;
  bool sideways_{false};
  std::size_t widest_{0};
  std::map<unsigned, std::size_t> in_tier_;
  std::map<std::size_t, std::size_t> labels_at_;  // by upper vertex
  std::map<Tiers, unsigned> usual_;
  Graph graph_;
  std::vector<Agnode_t*> nodes_;
  std::map<std::size_t, Agraph_t*> clusters_;
};

tl::unexpected<Error> graphviz_failed(const char* what) {
  const char* last = aglasterr();
  return fail(ErrorKind::Internal, std::string("Graphviz could not ") + what + " the fabric" +
                                       (last != nullptr ? ": " + printable(last) : ""));
}

}  // namespace

std::string layout_engine(const Picture& picture, const DrawOptions& options) {
  return picture.layered && picture.bundles.size() <= options.dot_edges_max ? "dot" : "sfdp";
}

Result<std::string> dot_text(const Picture& picture, const DrawOptions& options) {
  const Graph graph = GraphWriter(picture, options).write();
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&data, &size);
  if (out == nullptr) return fail(ErrorKind::Internal, "no memory for the drawing");
  const int status = agwrite(graph.get(), out);
  std::fclose(out);
  std::string text(data, size);
  std::free(data);
  if (status != 0) return graphviz_failed("write");
  return text;
}

Result<std::string> svg_text(const Picture& picture, const DrawOptions& options) {
  const Graph graph = GraphWriter(picture, options).write();
  const std::unique_ptr<GVC_t, int (*)(GVC_t*)> context(gvContext(), &gvFreeContext);
  agreseterrors();
  if (!context) return graphviz_failed("draw");
  const std::string engine = layout_engine(picture, options);
  if (gvLayout(context.get(), graph.get(), engine.c_str()) != 0) return graphviz_failed("lay out");
  char* data = nullptr;
  unsigned size = 0;
  const int status = gvRenderData(context.get(), graph.get(), "svg", &data, &size);
  std::string text;
  if (status == 0 && data != nullptr) text.assign(data, size);
  gvFreeRenderData(data);
  gvFreeLayout(context.get(), graph.get());
  // A label it cannot read is an error that Graphviz tells no other way: it draws on without it.
  if (text.empty() || agerrors() >= AGERR) return graphviz_failed("draw");
  return text;
}

}  // namespace ib::fabric
