// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtopo/options.h"

#include "tools/common/refusal.h"

namespace ib::tools::topo {

cli::CommandLine command_line(Options& out) {
  cli::CommandLine line(
      "ibtopo",
      "Finds out what an InfiniBand fabric is made of and prints it as ibnetdiscover "
      "does, as JSON, as a graph or as a picture.",
      IBKIT_VERSION);
  cli::add_common(line, out.common);
  line.text("-l,--load", out.load, "FILE", "Read this topology instead of asking the fabric");
  line.choice("--discover", out.discover, {"own", "libibnetdisc"},
              "Who sweeps the fabric (default own)");
  line.number("-m,--max-hops", out.hops_max, 0, 63, "Go no farther than this (default 63)");
  line.flag("-f,--full", out.full, "Text: append raw speed, width and VL codes to each port");
  line.flag("--dot", out.dot, "Print the picture as Graphviz text, not laid out");
  line.text("--svg", out.svg, "FILE", "Draw the picture into FILE (-: standard output)");
  line.flag("--hosts", out.hosts, "Pictures: a box for every host, not a list in its leaf");
  line.choice("--fold", out.fold, {"auto", "always", "never"},
              "Pictures: alike chips of a chassis as one box (default auto)");
  line.text("--title", out.title, "TEXT", "Pictures: heading (default: the file or local port)");
  line.text("--node-name-map", out.names, "FILE", "Names for nodes: lines of 0xGUID \"name\"");
  line.text("-y,--m_key", out.m_key, "KEY", "M_Key of SMPs");
  line.documents(failures_of("ibtopo", kSchema, IBKIT_VERSION));
  line.footer(cli::exit_status_help());
  return line;
}

}  // namespace ib::tools::topo
