"""Follows the guide: guide.py WRITING_A_PLUGIN.md FOLDER.

FOLDER is a new project of `seam new plugin acme.sharpen`. The guide's code is inserted as described in the guide.
"""

import pathlib
import re
import sys

guide = pathlib.Path(sys.argv[1]).read_text()
folder = pathlib.Path(sys.argv[2])
blocks = re.findall(r"^```cpp\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)


def block_with(text):
    found = [block for block in blocks if text in block]
    if len(found) != 1:
        sys.exit(f"{len(found)} code blocks of the guide contain '{text}'")
    return found[0]


def change(name, pattern, by):
    text = (folder / name).read_text()
    changed, times = re.subn(pattern, lambda _: by, text, flags=re.DOTALL)
    if times != 1:
        sys.exit(f"{name}: '{pattern}' occurs {times} times")
    (folder / name).write_text(changed)


change("sharpen.hpp", r" private:\n  double least_ = 0;[^\n]*\n", block_with("double amount_"))
change("pipeline.toml", r"least = 20", "amount = 2.0")
(folder / "sharpen.cpp").write_text(block_with("void Sharpen::declare") + "\n" + block_with("void Sharpen::process"))
# A different sigma must give different pixels: the example uses its declared parameter.
uses_sigma = """
TEST(Sharpen, UsesSigma) {
  seam::Image edge(1, 9, 3);
  for (int at = 0; at < 27; ++at) edge.data()[at] = at < 12 ? 40 : 200;
  seam::Packet packet;
  packet.set(seam::field::image, edge);
  Harness narrow("narrow", std::make_unique<Sharpen>());
  narrow.set("sigma", 0.5).push(packet).finish();
  Harness wide("wide", std::make_unique<Sharpen>());
  wide.set("sigma", 2.0).push(packet).finish();
  EXPECT_NE(narrow.outputs().at(0).get(seam::field::image), wide.outputs().at(0).get(seam::field::image));
}
"""
change("sharpen_test.cpp", r"const auto conformance[^\n]*\n", "")
tests = [block_with(".packets = "), block_with("TEST(Sharpen, "), uses_sigma, "}  // namespace\n"]
change("sharpen_test.cpp", r"TEST\(Sharpen, .*", "\n".join(tests))
