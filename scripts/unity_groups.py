#!/usr/bin/env python3
"""Groups sources that can be compiled together as one translation unit.

    scripts/unity_groups.py TARGETS OUTPUT

TARGETS holds one line per target: its name, its folder and its sources, separated by tabs. OUTPUT is
written as CMake commands that assign each source its UNITY_GROUP. Most of a compiler's time goes to the
headers of other libraries, so one unit of ten sources costs little more than one source.

Two sources are not grouped if an unnamed namespace of one defines a name that the other source, or a header
that it includes, uses; equal aliases do not clash. A source that differs from the last commit is compiled
separately, so that editing it does not recompile its group.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LARGEST_GROUP = 16
MOST_LINES = 3000
NOT_TYPES = r"\b(?:return|else|case|throw|new|delete|goto|co_return) "


def local_names(text):
    """Names that must not be defined twice in a unit: in unnamed namespaces, main(), a fuzz target."""
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
        elif nameless and re.match(r"[A-Za-z]", line):  # clang-format indents all other lines here
            found = re.match(r"[^(={;]*?(\w+)\s*(?:[(={;\[]|:(?!:)|final\b|$)", line)
            if found and not found[0][:found.start(1)].endswith("::"):
                names.add(found[1])
    return names


def aliases_in(text):
    """{name: definition}: an alias may be defined again if it means the same."""
    return dict(re.findall(r"(?m)^(?:namespace|using) (\w+) = (.*);", text))


def used_names(text):
    """All words of a source except members, its own variables and the contents of comments and literals."""
    text = re.sub(r'//.*|#include.*|"(?:\\.|[^"\\\n])*"', "", text)
    variables = set(re.findall(r"(?:[\w>]|[&*]) [&*]?(\w+)(?: = |[,;){]| : )", re.sub(NOT_TYPES, "(", text)))
    variables -= set(re.findall(r"(?<![\w.:>])(\w+)\(", text))
    return set(re.findall(r"(?<![\w.:>])[A-Za-z_]\w*", text)) - variables


def declared_names(text):
    """Names that a header declares; clang-format does not indent the contents of a namespace."""
    return set(re.findall(r"(?m)^(?:(?:enum )?(?:class|struct)|using)(?: SEAM_EXPORT)? (\w+)", text)
               + re.findall(r"(?m)^[A-Za-z\[][\w:<>,&*\[\] ]*?[ &*](\w+)(?:\(|;$| = |\{)", text))


def included_files(file, text):
    """The project's own files that the text of a file includes."""
    for name in re.findall(r'(?m)^\s*#\s*include\s*["<]([^">]+)[">]', text):
        for folder in (ROOT, ROOT / "sdk" / "include", file.parent):
            if (folder / name).is_file():
                yield (folder / name).resolve()
                break


class Headers:
    """Names that the project's headers declare."""

    def __init__(self):
        self.known = {}  # header: (names, headers that it includes)

    def names(self, file, text):
        """Names from every header that the text of a file includes, directly or not."""
        names, seen, waiting = set(), set(), list(included_files(file, text))
        while waiting:
            header = waiting.pop()
            if header not in seen:
                seen.add(header)
                if header not in self.known:
                    content = header.read_text()
                    self.known[header] = declared_names(content), list(included_files(header, content))
                names |= self.known[header][0]
                waiting += self.known[header][1]
        return names


class Source:
    def __init__(self, path, text, headers):
        self.path, self.lines = path, text.count("\n")
        self.local = local_names(text)
        self.aliases = aliases_in(text)
        self.known = used_names(text) | headers.names(path, text)

    def clashes_with(self, other):
        shared = self.local & (other.local | other.known) | other.local & self.known
        return any(name not in self.aliases or self.aliases[name] != other.aliases.get(name) for name in shared)


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


def git(*words):
    run = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else ""


def changed_sources():
    """Sources that differ from the last commit, with the committed text; None for new ones."""
    changed = {}
    for line in git("status", "--porcelain", "--untracked-files=all", "--", "*.cpp").splitlines():
        name = line[3:].split(" -> ")[-1]
        text = git("show", f"HEAD:{name}")
        changed[ROOT / name] = text or None
    return changed


def main():
    targets, output = map(pathlib.Path, sys.argv[1:])
    changed = changed_sources()
    headers = Headers()
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
