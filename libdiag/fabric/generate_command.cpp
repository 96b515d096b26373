// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The words of `ibfabric gen`, read into the typed kinds.
#include <algorithm>
#include <charconv>
#include <map>

#include "libdiag/base/text.h"
#include "libdiag/fabric/generate.h"

namespace ib::fabric {
namespace {

constexpr std::string_view kUsage = R"(KIND [--option value]...

  fat-tree        --levels 2|3  --radix N (36)  --hosts-per-leaf N  --oversubscription R (1)
                  --leaves N (2 levels: in all; 3: in a pod)  --spines N (3 levels: cores)  --pods N
                  --top-hosts N (0, on every spine, 3 levels: core)  --middle-hosts N (0, 3 levels:
                  on every switch between leaves and cores), on ports beyond the radix
                  Without more, a full tree: radix 36 has 648 hosts on 54 switches in 2 levels,
                  11664 on 1620 in 3; radix 24 has 3456 on 720 in 3.
  torus, mesh     SIZES (4x4x4)  --hosts N (1)  --cables N (1, between neighbours)
  hypercube       DIMENSIONS  --hosts N (1)  --cables N (1)
  hyperx          SIZES (12x8)  --hosts N (4)  --cables N (1)
  dragonfly-plus  --groups N (5)  --leaves N (4)  --spines N (4)  --hosts N (4, on a leaf)
                  --cables N (4, between two groups)
  dragonfly       --groups N (9)  --routers N (4)  --hosts N (2)  --global N (2, ports of a router)
  random          --switches N (32)  --links N (64)  --hosts N (4)
  kautz           --degree N (2)  --diameter N (3)  --hosts N (2)  --cables N (1)
  janus-like      three directors and 79 leaves, QDR, with damage
  superpod-like   31 leaves and 9 spines, NDR, doubled cables, aggregation nodes
  lab-like        two switches, FDR to HDR

  All but the look-alikes:
  --link WIDTHSPEED (4xEDR)  --missing PCT (hosts and switch-to-switch cables)  --missing-hosts PCT
  --missing-links PCT  --missing-switches PCT  --no-lids
  All but lab-like:
  --seed N (1)
)";

/// Words after the kind: operands, and options by name. What nobody asked for is an error.
class Words {
 public:
  static Result<Words> read(std::span<const std::string> words) {
    Words w;
    w.kind_ = words[0];
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!words[i].starts_with("--")) {
        w.operands_.push_back(words[i]);
        continue;
      }
      const std::size_t equals = words[i].find('=');
      if (equals != std::string::npos) {
        w.options_[words[i].substr(2, equals - 2)] = words[i].substr(equals + 1);
      } else if (words[i] == "--no-lids") {
        w.options_["no-lids"] = "";
      } else if (i + 1 < words.size()) {
        w.options_[words[i].substr(2)] = words[i + 1];
        ++i;
      } else {
        return fail(ErrorKind::Usage, "gen " + w.kind_ + ": " + words[i] + " needs a value");
      }
    }
    return w;
  }

  const std::string& kind() const { return kind_; }

  void number(const std::string& name, unsigned& out, unsigned max = 1'000'000) {
    const auto text = take(name);
    if (!text) return;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size() || value > max) {
      return wrong("--" + name, "a number up to " + std::to_string(max), *text);
    }
    out = value;
  }
  void number(const std::string& name, std::uint64_t& out) {
    const auto text = take(name);
    if (!text) return;
    if (!parse_number(*text, ~std::uint64_t{0}, out)) wrong("--" + name, "a number", *text);
  }
  void real(const std::string& name, double& out, double max) {
    const auto text = take(name);
    if (!text) return;
    double value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size() ||
        !(value >= 0 && value <= max)) {
      return wrong("--" + name, "a number from 0 to " + std::to_string(static_cast<int>(max)),
                   *text);
    }
    out = value;
  }
  bool flag(const std::string& name) { return take(name).has_value(); }
  void link(GenerateCommon& common) {
    const auto text = take("link");
    if (!text) return;
    const std::size_t x = text->find('x');
    const auto width = wire::parse_width(std::string_view(*text).substr(0, x + 1));
    const auto speed = x == std::string::npos
                           ? std::nullopt
                           : wire::parse_speed(std::string_view(*text).substr(x + 1));
    if (!width || !speed) return wrong("--link", "a width and speed like 4xEDR", *text);
    common.width = *width;
    common.speed = *speed;
  }
  void sizes(std::vector<unsigned>& out) {
    if (operands_.empty()) return;
    out.clear();
    for (const std::string_view piece : split(operands_[0], 'x')) {
      unsigned size = 0;
      const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), size);
      if (error != std::errc{} || end != piece.data() + piece.size() || size == 0 ||
          out.size() == 8) {
        return wrong("sizes", "up to 8 numbers joined by x, like 4x4x4", operands_[0]);
      }
      out.push_back(size);
    }
    operands_.erase(operands_.begin());
  }
  void operand(const std::string& name, unsigned& out) {
    if (operands_.empty()) return;
    options_[name] = operands_[0];
    operands_.erase(operands_.begin());
    number(name, out);
  }

  /// The first thing that was wrong, or a word that means nothing to this kind.
  std::optional<Error> problem() const {
    if (!problem_.empty()) return Error{ErrorKind::Usage, "gen " + kind_ + ": " + problem_, 0};
    if (!options_.empty()) {
      return Error{ErrorKind::Usage,
                   "gen " + kind_ + ": expected an option of this kind, got '--" +
                       printable(options_.begin()->first) + "'",
                   0};
    }
    if (!operands_.empty()) {
      return Error{
          ErrorKind::Usage,
          "gen " + kind_ + ": expected nothing more, got '" + printable(operands_[0]) + "'", 0};
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> take(const std::string& name) {
    const auto it = options_.find(name);
    if (it == options_.end()) return std::nullopt;
    std::string value = it->second;
    options_.erase(it);
    return value;
  }
  void wrong(const std::string& what, const std::string& expected, const std::string& got) {
    if (problem_.empty()) {
      problem_ = what + ": expected " + expected + ", got '" + printable(got) + "'";
    }
  }

  std::string kind_, problem_;
  std::vector<std::string> operands_;
  std::map<std::string, std::string> options_;
};

GenerateCommon read_common(Words& w) {
  GenerateCommon common;
  double missing = 0;
  w.number("seed", common.seed);
  w.link(common);
  w.real("missing", missing, 100);
  common.missing_hosts_percent = common.missing_links_percent = missing;
  w.real("missing-hosts", common.missing_hosts_percent, 100);
  w.real("missing-links", common.missing_links_percent, 100);
  w.real("missing-switches", common.missing_switches_percent, 100);
  common.lids = !w.flag("no-lids");
  return common;
}

template <class Kind>
Result<Fabric> build(const Words& w, const Kind& kind, const GenerateCommon& common) {
  if (const auto problem = w.problem()) return tl::unexpected<Error>(*problem);
  auto fabric = generate(kind, common);
  if (!fabric) fabric.error().message = "gen " + w.kind() + ": " + fabric.error().message;
  return fabric;
}

Result<Fabric> generate_lookalike(Words& w) {
  std::uint64_t seed = 1;
  if (w.kind() != "lab-like") w.number("seed", seed);
  if (const auto problem = w.problem()) return tl::unexpected<Error>(*problem);
  if (w.kind() == "janus-like") return generate_janus_like(seed);
  if (w.kind() == "superpod-like") return generate_superpod_like(seed);
  return generate_lab_like();
}

Result<Fabric> fat_tree(Words& w, const GenerateCommon& common) {
  FatTree t;
  w.number("radix", t.radix, 254);
  w.number("levels", t.levels, 3);
  w.number("hosts-per-leaf", t.hosts_per_leaf, 254);
  w.number("leaves", t.leaves, 50'000);
  w.number("spines", t.spines, 50'000);
  w.number("pods", t.pods, 1000);
  w.number("top-hosts", t.top_hosts, 254);
  w.number("middle-hosts", t.middle_hosts, 254);
  w.real("oversubscription", t.oversubscription, 250);
  return build(w, t, common);
}

/// What most kinds have: hosts of a switch, and cables that go side by side.
template <class Kind>
void hosts_and_cables(Words& w, Kind& t, unsigned cables_max = 127) {
  w.number("hosts", t.hosts, 254);
  w.number("cables", t.cables, cables_max);
}

Result<Fabric> grid(Words& w, const GenerateCommon& common) {
  Grid t;
  t.wrap = w.kind() == "torus";
  w.sizes(t.sizes);
  hosts_and_cables(w, t);
  return build(w, t, common);
}

Result<Fabric> hypercube(Words& w, const GenerateCommon& common) {
  Hypercube t;
  w.operand("dimensions", t.dimensions);
  w.number("dimensions", t.dimensions, 14);
  hosts_and_cables(w, t);
  return build(w, t, common);
}

Result<Fabric> hyperx(Words& w, const GenerateCommon& common) {
  HyperX t;
  w.sizes(t.sizes);
  hosts_and_cables(w, t);
  return build(w, t, common);
}

Result<Fabric> dragonfly_plus(Words& w, const GenerateCommon& common) {
  DragonflyPlus t;
  w.number("groups", t.groups, 1000);
  w.number("leaves", t.leaves, 254);
  w.number("spines", t.spines, 254);
  hosts_and_cables(w, t, 254);
  return build(w, t, common);
}

Result<Fabric> dragonfly(Words& w, const GenerateCommon& common) {
  Dragonfly t;
  w.number("groups", t.groups, 1000);
  w.number("routers", t.routers, 254);
  w.number("hosts", t.hosts, 254);
  w.number("global", t.global, 254);
  return build(w, t, common);
}

Result<Fabric> random_graph(Words& w, const GenerateCommon& common) {
  RandomGraph t;
  w.number("switches", t.switches, 50'000);
  w.number("links", t.links);
  w.number("hosts", t.hosts, 254);
  return build(w, t, common);
}

Result<Fabric> kautz(Words& w, const GenerateCommon& common) {
  Kautz t;
  w.number("degree", t.degree, 100);
  w.number("diameter", t.diameter, 16);
  hosts_and_cables(w, t, 60);
  return build(w, t, common);
}

/// A kind of fabric: reads what belongs to it and generates it.
struct KindRow {
  std::string_view name;
  Result<Fabric> (*generate)(Words& w, const GenerateCommon& common);
};
constexpr KindRow kKinds[] = {
    {"fat-tree", fat_tree},
    {"torus", grid},
    {"mesh", grid},
    {"hypercube", hypercube},
    {"hyperx", hyperx},
    {"dragonfly-plus", dragonfly_plus},
    {"dragonfly+", dragonfly_plus},
    {"dragonfly", dragonfly},
    {"random", random_graph},
    {"kautz", kautz},
};

}  // namespace

std::string_view generate_usage() { return kUsage; }

Result<Fabric> generate(std::span<const std::string> words) {
  if (words.empty()) return fail(ErrorKind::Usage, "gen: expected a kind of fabric, got nothing");
  auto read = Words::read(words);
  if (!read) return tl::unexpected<Error>(read.error());
  Words& w = *read;
  const std::string& kind = w.kind();
  if (kind == "janus-like" || kind == "superpod-like" || kind == "lab-like")
    return generate_lookalike(w);
  const GenerateCommon common = read_common(w);
  for (const KindRow& row : kKinds)
    if (row.name == kind) return row.generate(w, common);
  return fail(ErrorKind::Usage,
              "gen: expected a kind of fabric (fat-tree, torus, mesh, hypercube, "
              "hyperx, dragonfly-plus, dragonfly, random, kautz, janus-like, "
              "superpod-like, lab-like), got '" +
                  printable(kind) + "'");
}

}  // namespace ib::fabric
