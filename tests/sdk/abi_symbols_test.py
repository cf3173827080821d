"""Symbols that libseam.so exports, beside those that plugins of this SDK number may use: abi_symbols_test.py LIBRARY [--update].

abi/symbols-NUMBER.txt lists them. A plugin that was built before a symbol went cannot be loaded, so a missing one fails the
test; so does one that the file lacks. --update adds it, and never removes any: for that, increase SEAM_SDK_NUMBER.
"""

import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
HERE = pathlib.Path(__file__).parent


def main():
    if shutil.which("nm") is None:
        print("nm is not installed")
        sys.exit(SKIPPED)
    header = (HERE.parent.parent / "sdk/include/seam/plugin.hpp").read_text()
    number = re.search(r'#define SEAM_SDK_NUMBER "(\d+)"', header).group(1)
    listed = subprocess.run(["nm", "-D", "--defined-only", "-C", sys.argv[1]], capture_output=True, text=True, check=True)
    found = set()
    for line in listed.stdout.splitlines():
        kind, name = line.split(" ", 2)[1:]
        # Not the weak copies of the standard library's templates, which each library brings along.
        of_seam = kind == "T" or re.match(r"(vtable|typeinfo) for seam::", name)
        own = "seam::host::" in name or name in ("_exit", "_Exit")  # running_call.cpp says why it has them
        if of_seam and not own:
            found.add(name)
    file = HERE / "abi" / f"symbols-{number}.txt"
    known = set(file.read_text().split("\n")) - {""} if file.exists() else set()
    if sys.argv[2:] == ["--update"]:
        file.write_text("".join(f"{name}\n" for name in sorted(known | found)))
        known |= found
    for name in sorted(known - found):
        print(f"gone, although SEAM_SDK_NUMBER is still {number}: {name}", file=sys.stderr)
    for name in sorted(found - known):
        print(f"not in {file.name} (abi_symbols_test.py LIBRARY --update adds it): {name}", file=sys.stderr)
    sys.exit(1 if known != found else 0)


main()
