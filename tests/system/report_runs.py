"""Shared by the tests of `seam report`: small runs that train and evaluate, and their page."""

import html.parser
import json

from judge import NETWORK, RETRIEVAL, WARDROBE

PIPELINE = WARDROBE + NETWORK + RETRIEVAL + """
[pipeline]
name = "reported"
seed = 3
[stage.decode]
use = "image.decode"
[stage.fed]
use = "report.pictures"
[stage.neighbours]
use = "report.neighbours"
index = "gallery"
[flow]
train = "items -> triplets -> decode -> triplet_batch -> fed -> model -> triplet_loss -> adam"
gallery = "items -> decode -> batch -> model -> gallery"
evaluate = "items -> decode -> batch -> model -> search -> {recall, neighbours}"
[schedule]
epochs = 2
"""

# A folder's name may contain anything except a slash.
HOSTILE = """a "run" <script>document.title = 'broken'<\\script> & {{script}}"""


def make_runs(judge, pipeline=PIPELINE):
    """Two runs that differ in their learning rate; the folders' names."""
    (judge.folder / "reported.toml").write_text(pipeline)
    judge.run("reported.toml", HOSTILE)
    judge.run("reported.toml", "second", "--set", "stage.adam.rate=0.002")
    return [HOSTILE, "second"]


def report(judge, *arguments):
    """The path that `seam report` prints."""
    return judge.folder / judge.succeed("report", *arguments).stdout.strip()


class Page(html.parser.HTMLParser):
    """The parts of a page: its title, its data, and every address that it names."""

    def __init__(self, text):
        super().__init__()
        self.title, self.scripts, self.addresses, self.inside = "", [], [], None
        self.feed(text)
        self.close()
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attrs):
        self.inside = tag
        if tag == "script":
            self.scripts.append("")
        self.addresses += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "title":
            self.title += data
        if self.inside == "script":
            self.scripts[-1] += data
