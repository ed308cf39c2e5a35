#!/usr/bin/env python3
"""Writes the windows of models into src/tokens/models.csv, from the sources that its rows name.

    models.py [--check] WHEEL...

WHEEL is a wheel of litellm or transformers, of a release that the head of the table names:

    pip download --no-deps litellm==1.109.1 litellm==1.61.0 transformers==4.57.1

which pip refuses to do at once: one command for each. With --check nothing is written, and rows that differ from their
source are an error. A row whose source is not among the wheels stays as it is, and is counted.
"""

import json
import pathlib
import re
import sys
import zipfile

TABLE = pathlib.Path(__file__).parent.parent / "src/tokens/models.csv"
PRICES = "litellm/model_prices_and_context_window_backup.json"
NEWEST = "litellm-1.109.1"


def read_sources(wheels):
    """The tables of LiteLLM by their release, and the archive of transformers."""
    tables, transformers = {}, None
    for wheel in wheels:
        archive = zipfile.ZipFile(wheel)
        release = "-".join(pathlib.Path(wheel).name.split("-")[:2])
        if PRICES in archive.namelist():
            tables["litellm" if release == NEWEST else release] = json.loads(archive.read(PRICES))
        else:
            transformers = archive
    return tables, transformers


def window(source, tables, transformers):
    """The window that a source says, or None where it is not at hand."""
    kind, _, name = source.partition(" ")
    if kind in tables:
        key = name.removesuffix(" +out")
        row = tables[kind][key]
        limit = row.get("max_input_tokens") or row["max_tokens"]
        return limit + (row["max_output_tokens"] if key != name else 0)
    if kind == "transformers" and transformers:
        text = transformers.read(f"transformers/models/{name}/configuration_{name}.py").decode()
        return int(re.search(r"max_position_embeddings.*defaults to (\d+)", text)[1])
    return None


def main(arguments):
    check = "--check" in arguments
    tables, transformers = read_sources([wheel for wheel in arguments if wheel != "--check"])
    lines, differing, unread = [], 0, 0
    for line in TABLE.read_text().splitlines():
        fields = line.split(",")
        if not line.startswith("#") and fields[0] != "prefix":
            found = window(fields[5], tables, transformers)
            unread += found is None
            if found is not None and found != int(fields[3]):
                differing += 1
                print(f"{fields[0]}: {fields[3]}, but {found} by {fields[5]}")
                fields[3] = str(found)
        lines.append(",".join(fields))
    if not check:
        TABLE.write_text("\n".join(lines) + "\n")
    print(f"{differing} differ, {unread} have a source that was not read")
    return bool(check and differing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
