// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtopo/options.h"

#include "tools/common/refusal.h"

namespace ib::tools::topo {

cli::CommandLine command_line(Options& out) {
  cli::CommandLine line(
      "ibtopo",
      "Discovers the topology of an InfiniBand fabric and prints it in the format of "
      "ibnetdiscover, as JSON, as a graph or as a picture.",
      IBKIT_VERSION);
  cli::add_common(line, out.common);
  line.text("-l,--load", out.load, "FILE", "Read this saved topology instead of the live fabric");
  line.choice("--discover", out.discover, {"own", "libibnetdisc"},
              "Discovery by ibtopo itself or by libibnetdisc (default own)");
  line.number("-m,--max-hops", out.hops_max, 0, 63, "Maximum hops of discovery (default 63)");
  line.flag("-f,--full", out.full, "Text: append raw speed, width and VL codes to each port");
  line.flag(
      "--fec", out.fec,
      "Ask both ends of each cable which error correction runs there; name those that differ");
  line.flag("--dot", out.dot, "Print the picture as Graphviz text, not laid out");
  line.text("--svg", out.svg, "FILE", "Draw the picture into FILE (-: standard output)");
  line.flag("--hosts", out.hosts, "Pictures: a box for every host, not a list in its leaf");
  line.choice("--fold", out.fold, {"auto", "always", "never"},
              "Pictures: alike chips of a chassis as one box (default auto)");
  line.text("--title", out.title, "TEXT", "Pictures: heading (default: the file or local port)");
  line.text("--node-name-map", out.names, "FILE", "Names for node GUIDs: lines of 0xGUID \"name\"");
  line.number("-y,--m-key", {0, UINT64_MAX}, "M_Key of SMPs",
              [&](std::uint64_t key) { out.m_key = key; });
  line.documents(failures_of("ibtopo", kSchema, IBKIT_VERSION));
  line.footer("Exit status: 0 good, 2 usage or bad file, 3 incomplete data, 4 cannot run.");
  return line;
}

}  // namespace ib::tools::topo
