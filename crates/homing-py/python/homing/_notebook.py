"""Renders selections and diagnoses for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from homing import _homing

if TYPE_CHECKING:
    from homing._selection import Selection

_SHOWN = 12

_STYLE = """<style>
.homing{font:13px/1.45 system-ui,sans-serif;max-width:680px}
.homing .curves{display:flex;gap:16px;flex-wrap:wrap;margin:8px 0}
.homing figure{margin:0;flex:0 1 330px}.homing figure>svg{display:block;width:100%;overflow:visible}
.homing figcaption{font-size:12px}.homing h3{display:inline;font-size:inherit;margin:0 .6em 0 40px}.homing .note{opacity:.7}
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
    curves = _homing.curves(picks.information, picks.variance_left) if len(picks) > 1 else ""
    return frame(f'<p>{head}</p><div class="curves">{curves}</div>{_table(picks)}')


def frame(content: str) -> str:
    """Wraps content in the style that all outputs share."""
    return f'<div class="homing">{_STYLE}{content}</div>'


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
