# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""man_page.py PROGRAM PAGE: every option of `PROGRAM --help` is in the man page by all of its names, and
the paragraph that has it has its range and its default too.

man_page.py --names PROGRAM PAGE [VERB]...: its options, and those of its verbs (`ctl show` is one), are in
the page by all of their names."""
import re
import subprocess
import sys


def options(text):
    """([names], help) of every option, as CLI11 prints them."""
    found = []
    for line in text.split("\nOptions:\n")[1].split("\n\n")[0].splitlines():
        head = re.match(r"  (-\S+)(?: \[?[A-Z]+\]?)?(?:  +(.*))?$", line)
        if head:
            found.append([head[1].split(","), head[2] or ""])
        else:
            found[-1][1] += " " + line.strip()
    return found


def complaints(program, page):
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    with open(page, encoding="utf-8") as file:
        paragraphs = re.split(r"\n\.TP\n", file.read().replace(r"\-", "-"))
    listed = options(text)
    assert len(listed) > 20, text
    for names, about in listed:
        names = [n for n in names if n not in ("-?", "--V", "--D")]  # ways that CLI11 knows them by
        own = [p for p in paragraphs
               if all(re.search(rf"(?<![\w-]){re.escape(n)}(?![\w-])", p.split(".SH")[0]) for n in names)]
        if not own:
            yield f"{names}: no paragraph has all the names"
            continue
        wanted = re.findall(r"; (\d+ to \d+)$", about)
        wanted += [number for number in re.findall(r"default(?: is)?:? (\d+)", about)]
        for word in wanted:
            if not any(re.search(rf"(?<!\d){word}(?!\d)", p) for p in own):
                yield f"{names}: the paragraph does not say '{word}'"


def unnamed(program, page, *verbs):
    with open(page, encoding="utf-8") as file:
        known = re.sub(r"\\f.", "", file.read().replace(r"\-", "-"))
    for verb in ("", *verbs):
        text = subprocess.run([program, *verb.split(), "--help"], capture_output=True, text=True,
                              check=True).stdout
        names = [name for line in re.findall(r"^  (-\S+)", text, re.M) for name in line.split(",")]
        if "\nOptions:\n" not in text:  # a help of its own making
            names = re.findall(r"(?<![\w-])--[a-z][\w-]*", text)
        assert names, text
        for name in sorted(set(names) - {"-?", "--V", "--D", "--option"}):
            if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", known):
                yield f"{verb} {name}: not in the page"


if __name__ == "__main__":
    names_alone = sys.argv[1] == "--names"
    wrong = list(unnamed(*sys.argv[2:]) if names_alone else complaints(*sys.argv[1:3]))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
