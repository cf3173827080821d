"""R@1 over minutes of training, as a picture and as a table: see scripts/results."""

import json
import math
import sys

colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]  # told apart by colour-blind people, too
metrics = {"same shoot": "recall.none.r@1", "different colour": "cross_recall.none.r@1"}


def curves(folder):
    """{file and variant: [(minutes of training, images, {metric: (value, standard error)}), ...]} of the kept runs."""
    found = {}
    for run in sorted(folder.glob("*")):
        summary = json.loads((run / "summary.json").read_text())
        scores = {row["metric"]: (row["value"], row["standard_error"])
                  for row in json.loads((run / "score.json").read_text())["scores"]}
        [training] = summary["flows"]
        if training["times"] != summary["epochs"]:
            sys.exit(f"{run} was resumed: only the seconds of its last process are known")
        minutes = training["seconds"] / 60
        if not 1 < minutes < 60:
            sys.exit(f"{run} trained for {minutes:.1f} minutes: the picture has room for 1 to 60")
        variants = [choice.partition("=")[2] for choice in summary["variants"]]
        precision = [] if summary["precision"] == "float32" else [summary["precision"]]
        name = ", ".join([summary["pipeline"] + ".toml", *variants, *precision])
        found.setdefault(name, []).append((minutes, training["stages"][0]["delivered"], scores))
    if len(found) > len(colours):
        sys.exit(f"{folder} has more files than the picture has colours")
    return {name: sorted(points, key=lambda point: point[0]) for name, points in found.items()}


def table(found):
    """The points of the curves in Markdown, in percent."""
    lines = ["| file | images | minutes | same shoot | different colour |", "|---|---:|---:|---:|---:|"]
    for name, points in found.items():
        for minutes, images, scores in points:
            recalls = [f"{100 * value:.1f} ± {100 * error:.1f}" for value, error in map(scores.get, metrics.values())]
            lines.append(" | ".join([f"| `{name}`", f"{images:,}", f"{minutes:.1f}", *recalls]) + " |")
    return "\n".join(lines)


def panel(left, title, metric, found):
    """One diagram, 380 wide: recall in percent over minutes from 1 to 60, on a logarithmic scale."""
    def x(minutes):
        return left + 40 + 320 * math.log(minutes) / math.log(60)

    def y(recall):
        return 260 - 220 * recall

    yield f'<text x="{left + 200}" y="24" text-anchor="middle" font-weight="bold">{title}</text>'
    for percent in range(0, 101, 20):
        at = y(percent / 100)
        yield f'<path d="M{left + 40} {at:.1f}h320" stroke="#ddd"/>'
        yield f'<text x="{left + 34}" y="{at + 4:.1f}" text-anchor="end">{percent}</text>'
    for minutes in (1, 2, 5, 10, 20, 40):
        yield f'<text x="{x(minutes):.1f}" y="278" text-anchor="middle">{minutes}</text>'
    for colour, points in zip(colours, found.values()):
        line = [(x(minutes), *scores[metric]) for minutes, _, scores in points]
        path = " ".join(f"{at:.1f},{y(value):.1f}" for at, value, _ in line)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for at, value, error in line:
            yield f'<path d="M{at:.1f} {y(value - error):.1f}V{y(value + error):.1f}" stroke="{colour}"/>'
            yield f'<circle cx="{at:.1f}" cy="{y(value):.1f}" r="4" fill="{colour}"/>'


def picture(found):
    """The text of an SVG file."""
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="780" height="350" font-family="sans-serif" font-size="12">',
             '<rect width="780" height="350" fill="white"/>',
             *(line for at, (title, metric) in enumerate(metrics.items())
               for line in panel(390 * at, f"R@1 in percent, {title}", metric, found)),
             '<text x="390" y="300" text-anchor="middle">minutes of training; ± standard error</text>']
    for at, (colour, name) in enumerate(zip(colours, found)):
        lines += [f'<circle cx="{24 + 258 * at}" cy="326" r="4" fill="{colour}"/>',
                  f'<text x="{34 + 258 * at}" y="330">{name}</text>']
    return "\n".join([*lines, "</svg>"]) + "\n"
