"""The page of `seam report` in a headless browser: report_browser_test.py SEAM."""

import re
import shutil
import subprocess
import sys

from judge import Judge
from report_runs import HOSTILE, make_runs, report

browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if browser is None:
    print("skipped: no Chromium here")
    sys.exit(77)

# Added to the page's own scripts: records errors, and whether something is wider than the window.
BEFORE = """<script>
addEventListener("error", (event) => { document.documentElement.dataset.failed = event.message; });
addEventListener("securitypolicyviolation", (event) => { document.documentElement.dataset.failed = event.blockedURI; });
</script>"""
AFTER = """<script>
const root = document.documentElement;
root.dataset.wide = String(root.scrollWidth > root.clientWidth);
root.dataset.charts = [...document.querySelectorAll("canvas")].filter((canvas) => canvas.width > 0).length;
</script></body>"""


def drawn(page, folder, width, height):
    """The document after its scripts ran."""
    probe = folder / "probe.html"
    probe.write_text(page.read_text().replace("</head>", BEFORE + "</head>", 1).replace("</body>", AFTER))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
               f"--window-size={width},{height}", "--dump-dom", probe.as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0 or "<html" not in ran.stdout:
        print(f"skipped: {browser} does not run here: {ran.stderr[-300:]}")
        sys.exit(77)
    return ran.stdout


judge = Judge()
runs = make_runs(judge)
pages = [report(judge, HOSTILE), report(judge, *runs, "--output", "both.html")]
# Scores of two flows, from before the training only.
(judge.folder / "moments.toml").write_text(
    'extends = "reported.toml"\n[flow]\nagain = "items -> decode -> batch -> model -> search -> recall"\n'
    '[schedule]\nbefore = ["gallery", "evaluate", "again"]\neach_epoch = ["train"]\n')
judge.run("moments.toml", "moments")
for page in pages:
    for width, height in ((390, 844), (1280, 900)):
        document = drawn(page, judge.folder, width, height)
        where = f"{page.name} at {width}x{height}"
        root = re.search("<html[^>]*>", document)[0]
        judge.holds("data-failed" not in root, f"{where}: {root}")
        judge.holds('data-wide="false"' in root, f"{where}: wider than its window: {root}")
        judge.holds(int(re.search('data-charts="([0-9]+)"', root)[1]) >= 4, f"{where}: charts are missing: {root}")
        for text in ("recall@1", "Time", "Nearest neighbours", "Input batches of the model", "triplet_loss", "Tensors took at most",
                     "&lt;script&gt;document.title"):
            judge.holds(text in document, f"{where}: no {text}")
        judge.holds("<title>broken" not in document, f"{where}: a run's name was executed")

for page in (report(judge, "moments"), report(judge, "moments", "second", "--output", "moments.html")):
    document = drawn(page, judge.folder, 1280, 900)
    for text in ("before training", "mask none, flow evaluate", "mask none, flow again"):
        judge.holds(text in document, f"{page.name}: no {text}")

judge.end()
