"""Figures of benchmark pages, drawn from the data in result files; legible on light and dark."""

from pathlib import Path

GRAY = "#808080"  # text and axes: far enough from white and from black
COLORS = (
    "#3d85c6", "#e07b1a", "#2f9e6e", "#c75596", "#8a73c9", "#a08a1d", "#d4504a", "#3aa3b0",
)  # fmt: skip
STYLES = ("-", "--", ":", "-.")
MARKERS = "osD^vPX*"
WIDTH = 8.0


def draw(figure, path):
    """Draw one figure of a result into a file; the suffix of the path decides on the format."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    settings = {
        "text.color": GRAY, "axes.labelcolor": GRAY, "axes.edgecolor": GRAY,
        "xtick.color": GRAY, "ytick.color": GRAY, "grid.color": GRAY, "grid.alpha": 0.3,
        "axes.spines.top": False, "axes.spines.right": False, "font.size": 11.0,
        "axes.titlesize": 12.0, "legend.frameon": False, "svg.hashsalt": figure["title"],
    }  # fmt: skip
    with plt.rc_context(settings):
        made = {"lines": _lines, "bars": _bars}[figure["kind"]](plt, figure)
        metadata = {"Date": None} if Path(path).suffix == ".svg" else None
        made.savefig(path, transparent=True, bbox_inches="tight", metadata=metadata)
        plt.close(made)


def _lines(plt, figure):
    made, ax = plt.subplots(figsize=(WIDTH, 4.6))
    for k, (name, (xs, ys)) in enumerate(figure["series"].items()):
        points = [(x, y) for x, y in zip(xs, ys) if x is not None and y is not None]
        ax.plot(
            *zip(*points), label=name, color=COLORS[k % len(COLORS)],
            linestyle=STYLES[k // len(COLORS) % len(STYLES)],
            marker=MARKERS[k % len(MARKERS)] if len(points) <= 30 else None, markersize=5.0,
        )  # fmt: skip
    if figure.get("limit") is not None:
        ax.axhline(figure["limit"], color=GRAY, linewidth=1.0, linestyle=":")
    if "x" in (figure["log"] or ""):
        ax.set_xscale("log")
    if "y" in (figure["log"] or ""):
        ax.set_yscale("log")
    ax.set(title=figure["title"], xlabel=figure["x"], ylabel=figure["y"])
    ax.grid(True)
    if len(figure["series"]) > 6:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        ax.legend()
    return made


def _bars(plt, figure):
    series = figure["series"]
    categories = list(dict.fromkeys(key for of in series.values() for key in of))
    n = len(series)
    made, ax = plt.subplots(figsize=(WIDTH, 1.2 + len(categories) * max(0.32, 0.2 * n)))
    height = 0.8 / n
    for k, (name, of) in enumerate(series.items()):
        places = [(i, of[key]) for i, key in enumerate(categories) if of.get(key) is not None]
        bars = ax.barh(
            [i + (k - (n - 1) / 2) * height for i, _ in places], [value for _, value in places],
            height=height, label=name, color=COLORS[k % len(COLORS)],
        )  # fmt: skip
        ax.bar_label(bars, [f"{value:.3g}" for _, value in places], padding=3, fontsize=9)
    ax.set_yticks(range(len(categories)), categories)
    ax.invert_yaxis()
    if figure["log"]:
        ax.set_xscale("log")
    ax.margins(x=0.12)
    ax.set(title=figure["title"], xlabel=figure["y"])
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)
    if n > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.16 if len(categories) > 8 else -0.3),
                  ncols=min(n, 4))  # fmt: skip
    return made
