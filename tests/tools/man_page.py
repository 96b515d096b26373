# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""man_page.py PROGRAM PAGE: every option of `PROGRAM --help` is in the man page by all of its names, and
the paragraph that has it has its range and its default too."""
import re
import subprocess
import sys


def options(text):
    """([names], help) of every option, as CLI11 prints them."""
    found = []
    for line in text.split("\nOptions:\n")[1].split("\n\n")[0].splitlines():
        head = re.match(r"  (-\S+)(?: [A-Z]+)?(?:  +(.*))?$", line)
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


if __name__ == "__main__":
    wrong = list(complaints(*sys.argv[1:3]))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
