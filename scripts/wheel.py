"""Makes a wheel of an installation; scripts/package calls it.

    wheel.py INSTALLATION VERSION TORCH_VERSION FOLDER

The wheel's package `seam` is the installation, and its command `seam` starts the program in it.
"""

import base64
import hashlib
import os
import pathlib
import sys
import zipfile

installation, version, torch, folder = sys.argv[1:]
platform = f"py3-none-linux_{os.uname().machine}"
information = f"seam-{version}.dist-info"

added = {
    "seam/__init__.py": '"""The programs, plugins and pipeline files of Seam; their folder is seam.__path__[0]."""\n',
    "seam/__main__.py": """import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).parent / "bin" / "seam"
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
""",
    f"{information}/METADATA": f"""Metadata-Version: 2.1
Name: seam
Version: {version}
Summary: Image retrieval as dataflow pipelines
License: Apache-2.0
Requires-Dist: torch=={torch}
""",
    f"{information}/WHEEL": f"Wheel-Version: 1.0\nGenerator: scripts/package\nRoot-Is-Purelib: false\nTag: {platform}\n",
    f"{information}/entry_points.txt": "[console_scripts]\nseam = seam.__main__:main\n",
}

root = pathlib.Path(installation)
record = []
with zipfile.ZipFile(f"{folder}/seam-{version}-{platform}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:

    def add(name, content, mode):
        entry = zipfile.ZipInfo(name)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16  # pip keeps the bits that make a file executable
        wheel.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}\n")

    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        add(f"seam/{path.relative_to(root)}", path.read_bytes(), path.stat().st_mode & 0o777)
    for name, text in added.items():
        add(name, text.encode(), 0o644)
    record.append(f"{information}/RECORD,,\n")
    wheel.writestr(f"{information}/RECORD", "".join(record))
