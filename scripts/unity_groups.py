#!/usr/bin/env python3
"""Groups sources that can be compiled together as one translation unit.

    scripts/unity_groups.py TARGETS OUTPUT

TARGETS holds one line per target: its name, its folder and its sources, separated by tabs. OUTPUT is
written as CMake commands that assign each source its UNITY_GROUP. Most of a compiler's time goes to the
headers of other libraries, so one unit of ten sources costs little more than one source.

Two sources stay apart if one defines, for itself alone, a name that the other one uses or that a header of
the project that the other one includes declares. A source that
differs from the last commit is compiled by itself, so that editing it does not recompile its group.
"""

import pathlib
import re
import subprocess
import sys

LARGEST_GROUP = 16
MOST_LINES = 3000


def local_names(text):
    """Names that a source defines for itself alone: in unnamed namespaces, main(), a fuzz target."""
    names, nameless = set(), False
    for line in text.splitlines():
        line = re.sub(r"^(?:\[\[\w+\]\] )+", "", line)
        if line.startswith("namespace {"):
            nameless = True
        elif line.startswith("}  // namespace") and line.strip() == "}  // namespace":
            nameless = False
        elif line.startswith("int main("):
            names.add("main")
        elif line.startswith('extern "C" int LLVMFuzzerTestOneInput('):
            names.add("LLVMFuzzerTestOneInput")
        elif line.startswith("SEAM_PLUGIN(") or "seam_plugin_manifest[]" in line:
            names.add("seam_plugin")
        elif line.startswith(("template struct ", "extern template struct ")):
            names.add(line.removeprefix("extern "))
        elif line.startswith(("TEST", "TYPED_TEST", "INSTANTIATE_")):
            names.add(line)
        elif nameless and re.match(r"[A-Za-z]", line):  # clang-format indents nothing else here
            found = re.match(r"[^(={;]*?(\w+)\s*(?:[(={;\[]|:(?!:)|final\b|$)", line)
            if found and not found[0][:found.start(1)].endswith("::"):
                names.add(found[1])
    return names


def used_names(text):
    """Every word of a source that is not a member of something, nor in a comment or a literal."""
    text = re.sub(r'//.*|"(?:\\.|[^"\\\n])*"', "", text)
    return set(re.findall(r"(?<![\w.:>])[A-Za-z_]\w*", text))


def declared_names(text):
    """Names that a header declares; clang-format does not indent what stands in a namespace."""
    return set(re.findall(r"(?m)^(?:(?:enum )?(?:class|struct)|using)(?: SEAM_EXPORT)? (\w+)", text)
               + re.findall(r"(?m)^[A-Za-z\[][\w:<>,&*\[\] ]*?[ &*](\w+)(?:\(|;$| = |\{)", text))


class Headers:
    """What the project's headers declare, by source that includes them."""

    def __init__(self, root):
        self.root, self.known = root, {}

    def names(self, file, text, seen):
        """Names from every header that a text includes, directly or not."""
        names = set()
        for name in re.findall(r'(?m)^\s*#\s*include\s*["<]([^">]+\.hpp)[">]', text):
            for folder in (self.root, self.root / "sdk" / "include", file.parent):
                header = (folder / name).resolve()
                if header in seen or not header.is_file():
                    continue
                seen.add(header)
                if header not in self.known:
                    self.known[header] = header.read_text()
                names |= declared_names(self.known[header])
                names |= self.names(header, self.known[header], seen)
                break
        return names


class Source:
    def __init__(self, path, text, headers):
        self.path, self.lines = path, text.count("\n")
        self.local = local_names(text)
        self.seen = used_names(text) | headers.names(path, text, set())

    def clashes_with(self, other):
        return bool(self.local & (other.local | other.seen) or other.local & self.seen)


def groups_of(sources):
    """First fit: [[Source, ...], ...]."""
    groups = []
    for source in sources:
        for group in groups:
            if (len(group) < LARGEST_GROUP
                    and sum(one.lines for one in group) + source.lines <= MOST_LINES
                    and not any(source.clashes_with(one) for one in group)):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def git(folder, *words):
    run = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else ""


def changed_sources(root):
    """Sources that differ from the last commit, with the committed text; None for new ones."""
    changed = {}
    for line in git(root, "status", "--porcelain", "--untracked-files=all", "--", "*.cpp").splitlines():
        name = line[3:].split(" -> ")[-1]
        text = git(root, "show", f"HEAD:{name}")
        changed[root / name] = text or None
    return changed


def main():
    targets, output = map(pathlib.Path, sys.argv[1:])
    root = pathlib.Path(__file__).resolve().parent.parent
    changed = changed_sources(root)
    headers = Headers(root)
    lines = []
    for line in targets.read_text().splitlines():
        target, folder, *names = line.split("\t")
        sources = []
        for name in names:
            path = (pathlib.Path(folder) / name).resolve()
            if path.suffix != ".cpp" or not path.exists() or changed.get(path, "") is None:
                continue
            # Groups follow the committed text: an edit must not move other sources.
            sources.append(Source(path, changed.get(path) or path.read_text(), headers))
        for number, group in enumerate(groups_of(sources)):
            together = [source.path for source in group if source.path not in changed]
            if len(together) > 1:
                paths = " ".join(f'"{path}"' for path in together)
                lines.append(f"set_source_files_properties({paths} TARGET_DIRECTORY {target} "
                             f"PROPERTIES UNITY_GROUP {target}_{number})")
    output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
