# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Documents against the JSON Schema files in doc/schema, which are installed.

json_schema.py ROOT BIN: every golden document, and what programs print of files and of errors. Other tests call
complaints(document). The checker knows the keywords that the schemas use, and no others."""
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "doc/schema"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$id", "$defs", "$ref", "title", "type", "properties", "required", "items", "enum", "pattern",
         "allOf", "anyOf"}


@functools.cache
def schema_file(name):
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def is_type(value, name):
    if name in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(value, int if name == "integer" else (int, float))
    return isinstance(value, TYPES[name])


def check(value, schema, file, where):
    """Yields what of the value the schema does not allow."""
    assert not set(schema) - KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        name, _, pointer = schema["$ref"].partition("#/")
        target = schema_file(name or file)
        for part in pointer.split("/"):
            target = target[part]
        yield from check(value, target, name or file, where)
    types = schema.get("type", [])
    if types and not any(is_type(value, t) for t in ([types] if isinstance(types, str) else types)):
        yield f"{where}: expected {types}, got {value!r:.60}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: expected one of {schema['enum']}, got {value!r:.60}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{where}: {value!r:.60} does not match {schema['pattern']}"
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield f"{where}: '{key}' is missing"
        for key, below in schema.get("properties", {}).items():
            if key in value:
                yield from check(value[key], below, file, f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from check(item, schema["items"], file, f"{where}[{i}]")
    for part in schema.get("allOf", []):
        yield from check(value, part, file, where)
    if "anyOf" in schema:
        tried = [list(check(value, part, file, where)) for part in schema["anyOf"]]
        if all(tried):
            yield from min(tried, key=len)


def complaints(document):
    match = re.fullmatch(r"ibkit\.([a-z-]+)/(\d+)", document.get("schema", ""))
    file = f"{match[1]}-{match[2]}.json" if match else ""
    if not file or not (SCHEMAS / file).exists():
        return [f"no schema file for {document.get('schema')!r}"]
    return list(check(document, schema_file(file), file, "document"))


def main(root, programs):
    failures = []

    def judge(name, document):
        failures.extend(f"{name}: {line}" for line in complaints(document))

    golden = sorted((root / "tests/golden").rglob("*json*"))
    for path in golden:
        judge(path.relative_to(root), json.loads(path.read_text(encoding="utf-8")))
    topology, net4 = root / "tests/golden/topology/small.topo", root / "tests/golden/net4"
    saved = ["--load", net4 / "topology", "--tables", net4 / "dump_fts"]
    with tempfile.TemporaryDirectory() as folder:
        runs = [["ibtopo", "-l", topology], ["ibtopo", "-l", "/no/such"], ["ibroutes", *saved], ["ibroutes", "verify", *saved],
                ["ibroutes", "path", "2", "12", *saved], ["ibroutes", "path", "2", "nobody", *saved],
                ["ibroutes", "dump", folder, *saved], ["ibroutes", "plan", *saved], ["ibroutes", "plan", "--compare", *saved],
                ["ibsm", "plan", topology], ["ibsm", "plan", topology, "--compare", "minhop,updn"], ["ibsm", "plan", "/no/such"],
                ["ibtracer", "x", "y"], ["ibpath", "1"]]
        for words in runs:
            ran = subprocess.run([programs / words[0], *words[1:], "--json"], capture_output=True, text=True, check=False)
            try:
                judge(" ".join(map(str, words)), json.loads(ran.stdout))
            except json.JSONDecodeError as error:
                failures.append(f"{words}: {error}: {ran.stdout[:80]!r} {ran.stderr[:80]!r}")
    # The checker itself: what is missing or of another type is found.
    for key, value in (("engine", 7), ("engines", None), ("complete", "yes"), ("schema", "ibkit.plan/9")):
        document = json.loads((root / "tests/golden/documents/ibsm-plan.json").read_text(encoding="utf-8"))
        if value is None:
            del document[key]
        else:
            document[key] = value
        if not complaints(document):
            failures.append(f"a document with {key} {value!r} passes")
    print("\n".join(failures) or f"{len(golden)} golden documents, {len(runs)} runs")
    return 1 if failures or len(golden) < 20 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
