"""Draws rules.svg: five picks from the same pool under three rules. Needs the Python package."""

from pathlib import Path

import homing
import numpy as np

RULES = [("itl-top-b", "scored once (itl-top-b)"), ("itl", "itl"), ("undirected-itl", "no targets (undirected-itl)")]
SIZE, MARGIN = 240, 20

rng = np.random.default_rng(4)
# Eight of the rows are near-duplicates.
pool = np.concatenate([rng.uniform(0, 10, (82, 2)), rng.normal((3.7, 3.2), 0.2, (8, 2))])
targets = np.array([[2.2, 2.4], [3.4, 3.8], [5.0, 2.6]])


def at(point):
    return f'{MARGIN + point[0] * 20:.1f}', f'{MARGIN + 20 + point[1] * 20:.1f}'


def panel(rule, title):
    picks = homing.select(pool, targets if rule != "undirected-itl" else None, 5, rule, 0.3, kernel="gaussian:1.5").indices
    yield f'<text x="{SIZE / 2}" y="22" text-anchor="middle" font-size="14">{title}</text>'
    yield f'<rect x="{MARGIN - 6}" y="{MARGIN + 14}" width="212" height="212" fill="none" stroke="#ccc"/>'
    for row, point in enumerate(pool):
        x, y = at(point)
        style = 'r="5.5" fill="#c8741a"' if row in picks else 'r="2.5" fill="#9aa5b1"'
        yield f'<circle cx="{x}" cy="{y}" {style}/>'
    for target in targets:
        x, y = map(float, at(target))
        yield f'<path d="M{x:.1f} {y - 6:.1f} l6 11 h-12 z" fill="#3b6ea8"/>'


def main():
    label = "Five picks from the same pool under three rules"
    width, height = 3 * SIZE, SIZE + 40
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" role="img" aria-label="{label}">']
    lines.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    for number, (rule, title) in enumerate(RULES):
        lines += [f'<g transform="translate({number * SIZE} 0)">', *panel(rule, title), "</g>"]
    lines.append('<g font-size="12"><circle cx="190" cy="266" r="2.5" fill="#9aa5b1"/><text x="200" y="270">pool</text>')
    lines.append('<path d="M260 260 l6 11 h-12 z" fill="#3b6ea8"/><text x="274" y="270">targets</text>')
    lines.append('<circle cx="350" cy="266" r="5.5" fill="#c8741a"/><text x="362" y="270">picks</text></g>')
    Path(__file__).with_name("rules.svg").write_text("\n".join([*lines, "</svg>"]) + "\n")


main()
