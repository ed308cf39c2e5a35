"""Makes a Python wheel and an npm package of an installation. Usage: packages.py TREE LAUNCHER VERSION GLIBC OUT

TREE is the prefix of an installation in which every tool is a link to `rsv`. Neither format keeps links: in the wheel
LAUNCHER stands for each of them, and npm rebuilds them. Prints the paths of both files.
"""

import base64
import hashlib
import io
import json
import platform
import sys
import tarfile
import zipfile
from pathlib import Path

SUMMARY = "A long memory for language models, as a suite of small composable tools"
LICENSE = "Apache-2.0"
# The first that zip can express: the same input makes the same file.
TIME = (1980, 1, 1, 0, 0, 0)
# scripts/uninstall and its list: pip and npm remove what they installed.
OWN = {"lib/rsv/uninstall", "lib/rsv/manifest"}
NPM_CPU = {"x86_64": "x64", "aarch64": "arm64"}


def files(tree):
    """The files of an installation: path, content, mode, and whether it is a link to `rsv`."""
    program = (tree / "bin/rsv").stat().st_ino
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        if path.is_file() and name not in OWN:
            status = path.stat()
            yield name, path, status.st_mode & 0o777, status.st_ino == program and name != "bin/rsv"


def wheel(tree, launcher, version, glibc, out):
    """A wheel has its programs under `scripts`, and what belongs into the prefix under `data`."""
    tag = f"py3-none-manylinux_{glibc.replace('.', '_')}_{platform.machine()}"
    info, data = f"rsv-{version}.dist-info", f"rsv-{version}.data"
    record = []
    path = out / f"rsv-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:

        def add(name, content, mode=0o644):
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")

        for name, source, mode, is_link in files(tree):
            content = (launcher if is_link else source).read_bytes()
            place = f"scripts/{name.removeprefix('bin/')}" if name.startswith("bin/") else f"data/{name}"
            add(f"{data}/{place}", content, mode)
        add(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: rsv\nVersion: {version}\nSummary: {SUMMARY}\nLicense: {LICENSE}\n".encode(),
        )
        add(
            f"{info}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: scripts/release\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        )
        record.append(f"{info}/RECORD,,\n")
        entry = zipfile.ZipInfo(f"{info}/RECORD", TIME)
        made.writestr(entry, "\n".join(record))
    return path


def npm(tree, version, out):
    """npm makes a link for each program in package.json."""
    programs = {}
    path = out / f"rsv-{version}-npm.tgz"
    with tarfile.open(path, "w:gz", compresslevel=9) as made:

        def add(name, content, mode=0o644):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), mode
            made.addfile(entry, io.BytesIO(content))

        for name, source, mode, is_link in files(tree):
            if name.startswith("bin/"):
                programs[name.removeprefix("bin/")] = "bin/rsv" if is_link else name
            if not is_link:
                add(name, source.read_bytes(), mode)
        pages = sorted(f"./{page.relative_to(tree).as_posix()}" for page in tree.glob("share/man/*/*"))
        about = {
            "name": "rsv",
            "version": version,
            "description": SUMMARY,
            "license": LICENSE,
            "os": ["linux"],
            "cpu": [NPM_CPU[platform.machine()]],
            "libc": ["glibc"],
            "bin": programs,
            "man": pages,
        }
        add("package.json", json.dumps(about, indent=2).encode())
    return path


def main():
    tree, launcher, version, glibc, out = sys.argv[1:]
    tree = Path(tree)
    for made in wheel(tree, Path(launcher), version, glibc, Path(out)), npm(tree, version, Path(out)):
        print(f"{out}/{made.name}")


main()
