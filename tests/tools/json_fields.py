# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every field of the golden JSON documents is in its tool's section of doc/formats.md, and every
document has the envelope."""
import json
import pathlib
import re
import sys

ENVELOPE = ("schema", "tool", "version", "complete", "errors")


def sections(text):
    """Title -> the words in back-quotes of that section."""
    found = {}
    for part in re.split(r"(?m)^## ", text)[1:]:
        title, _, body = part.partition("\n")
        found[title.strip()] = set(re.findall(r"`\.*([A-Za-z_0-9]+)(?:\[\])?`", body))
    return found


def fields(value):
    if isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from fields(below)
    elif isinstance(value, list):
        for below in value:
            yield from fields(below)


def main(root):
    documented = sections((root / "doc/formats.md").read_text())
    common = documented["JSON, everywhere"]
    files = sorted((root / "tests/golden").rglob("*json*"))
    failures = [] if len(files) >= 6 else [f"only {len(files)} golden documents"]
    tools = set()
    for path in files:
        document = json.loads(path.read_text())
        missing = [key for key in ENVELOPE if key not in document]
        if missing:
            failures.append(f"{path}: lacks {missing}")
        tool = document.get("tool", "")
        tools.add(tool)
        known = common.union(*(words for title, words in documented.items()
                               if title.split()[0] in (tool, document.get("schema", "")[6:].split("/")[0])))
        failures += [f"{path}: '{key}' is not in doc/formats.md" for key in sorted(set(fields(document)))
                     if key not in known]
    failures += [f"no golden document of {tool}"
                 for tool in ("ibpath", "ibroutes", "ibtopo", "ibtracer") if tool not in tools]
    print("\n".join(failures) or f"{len(files)} documents")
    return 1 if failures else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
