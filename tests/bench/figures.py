#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""figures.py PAGE LOG: puts the output of a run of benchmarks ("== NAME" lines begin one) into the page of figures, each
in a section of its own with command, date, commit and machine, and the picture NAME.svg beside the page, if there is one;
other sections of the page stay."""
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

HEAD = """# Figures

What `./dev bench` and some tests measured, a section for each benchmark or test; `./dev bench` and
`./dev bench NAME` replace the sections of what they run. Compare figures of one machine only. What a
benchmark does is in `tests/bench/bench.py`, `managers.py`, `routes.py`, `damage.py` and the files
beside them.
"""


def machine():
    model = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo", encoding="utf-8").read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return "%s, %d processors, %.0f GiB, Linux %s" % (model[1] if model else platform.machine(), os.cpu_count(), memory,
                                                      platform.release())


def sections(text, mark):
    """Title -> body of the parts that begin with a line of the mark."""
    parts = re.split(r"(?m)^%s (.*)\n" % re.escape(mark), text)
    return dict(zip(parts[1::2], parts[2::2]))


def page(old, log, when, commit, where, pictures=()):
    found = sections(old, "##")
    for name, output in sections(log, "==").items():
        picture = "![%s](%s.svg)\n\n" % (name, name) if name in pictures else ""
        found[name] = ("\n`./dev bench %s`, %s, commit %s\n%s\n\n%s```\n%s\n```\n\n"
                       % (name, when, commit, where, picture, output.strip("\n")))
    return HEAD + "".join("\n## %s\n%s" % (name, body.rstrip("\n") + "\n") for name, body in sorted(found.items()))


def main(path, log):
    old = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    with open(log, encoding="utf-8", errors="replace") as file:
        text = page(old, file.read(), datetime.date.today().isoformat(), commit or "unknown", machine(),
                    [picture.stem for picture in pathlib.Path(path).parent.glob("*.svg")])
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def check():
    """A section is replaced, others stay, in order of names."""
    one = page("", "== b\nfirst\n", "D", "C", "M")
    both = page(one, "== a\nx\n== b\nsecond\n", "D", "C", "M")
    assert "first" in one and "first" not in both and "second" in both
    assert "![a](a.svg)" in page("", "== a\nx\n", "D", "C", "M", ["a"]) and "![" not in both
    assert both.index("## a") < both.index("## b") and page(both, "", "D", "C", "M") == both


if __name__ == "__main__":
    check() if sys.argv[1:] == ["--check"] else main(*sys.argv[1:3])
