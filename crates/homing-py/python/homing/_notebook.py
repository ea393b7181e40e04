"""Renders selections and diagnoses for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from homing._selection import Selection

_SHOWN = 12
_WIDTH, _HEIGHT = 300, 120

_STYLE = """<style>
.homing{font:13px/1.45 system-ui,sans-serif;max-width:680px}
.homing .charts{display:flex;gap:24px;flex-wrap:wrap;margin:8px 0}
.homing figure{margin:0}.homing figcaption{opacity:.7;font-size:12px}
.homing svg{display:block;overflow:visible}
.homing table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.homing th{text-align:right;font-weight:600;opacity:.7;padding:2px 12px 2px 0}
.homing td{text-align:right;padding:2px 12px 2px 0;border-top:1px solid rgba(128,128,128,.25)}
.homing td.bar{width:120px;text-align:left}
.homing td.bar i{display:block;height:9px;border-radius:2px;background:#3572b0}
.homing p{margin:4px 0}
</style>"""


def selection_html(picks: Selection) -> str:
    """Renders a selection: a sentence, two curves, and a table of the first picks."""
    head = f"<b>{len(picks):,} of {picks.rows:,} rows</b> by <code>{escape(picks.rule)}</code>, ρ = {picks.noise_std:.3g}"
    if picks.ended != "count":
        head += f" (ended by {escape(picks.ended)})"
    charts = ""
    if len(picks) > 1:
        charts = _chart(picks.information, 0.0, f"information: {picks.information[-1]:.3g} nats", "#3572b0")
        if picks.variance_left is not None:
            charts += _chart(picks.variance_left, 1.0, f"variance left: {picks.variance_left[-1]:.1%}", "#b5542c")
    return frame(f'<p>{head}</p><div class="charts">{charts}</div>{_table(picks)}')


def frame(content: str) -> str:
    """Wraps content in the style that all outputs share."""
    return f'<div class="homing">{_STYLE}{content}</div>'


def _chart(values: npt.NDArray[np.float64], start: float, caption: str, colour: str) -> str:
    """Renders a curve over the picks, starting with the value before the first pick."""
    line = np.concatenate([[start], values])
    line = line[:: max(1, len(line) // 400)]
    top = float(max(line.max(), 1e-300))
    points = zip(np.linspace(0, _WIDTH, len(line)), _HEIGHT - line / top * _HEIGHT)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<figure><svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{escape(caption)}">'
        f'<line x1="0" y1="{_HEIGHT}" x2="{_WIDTH}" y2="{_HEIGHT}" stroke="currentColor" stroke-opacity=".3"/>'
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/></svg>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _table(picks: Selection) -> str:
    gains, ids, left = picks.gains, picks.ids, picks.variance_left
    most = float(gains.max()) if len(picks) else 1.0
    head = "<th>rank</th><th>row</th>" + ("<th>id</th>" if ids else "") + "<th>score</th><th>gain, nats</th><th></th>"
    head += "" if left is None else "<th>variance left</th>"
    body = ""
    for i in range(min(len(picks), _SHOWN)):
        width = 100 * gains[i] / most if most > 0 else 0
        body += f"<tr><td>{i + 1}</td><td>{picks.indices[i]}</td>" + (f"<td>{escape(ids[i])}</td>" if ids else "")
        body += f"<td>{picks.scores[i]:.4g}</td><td>{gains[i]:.3f}</td>"
        body += f'<td class="bar"><i style="width:{width:.1f}%"></i></td>'
        body += "" if left is None else f"<td>{left[i]:.1%}</td>"
        body += "</tr>"
    more = f"<p>and {len(picks) - _SHOWN:,} more</p>" if len(picks) > _SHOWN else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"
