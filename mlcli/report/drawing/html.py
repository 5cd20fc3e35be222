"""Pieces of HTML; every text on a page is escaped here."""

from collections.abc import Iterable, Sequence

from mlcli.base.frozen import frozen
from mlcli.report.drawing.figure import Figure
from mlcli.report.drawing.palette import GROUND, style_sheet
from mlcli.report.drawing.svg import inline
from mlcli.report.drawing.text import safe

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
LONG = 1000  # characters of a sentence
UNKNOWN = "–"
LEAST = 9  # longest head of a column of numbers that is never broken
BRIEF = ' class="n brief"'
NOTHING = ("", UNKNOWN)  # empty cells


@frozen
class Html:
    """A part of a page, already escaped, and the kinds of marks in its figures."""

    text: str
    kinds: frozenset[str] = frozenset()


Part = Html | None


def join(parts: Iterable[Part]) -> Html:
    """Return parts one after the other; those that are None are left out."""
    there = [part for part in parts if part is not None]
    return Html("\n".join(part.text for part in there), frozenset().union(*(part.kinds for part in there)))


def section(title: str, *parts: Part) -> Html | None:
    """Return a titled section; None where it would be empty."""
    inside = join(parts)
    return Html(f"<section>\n<h2>{safe(title)}</h2>\n{inside.text}\n</section>", inside.kinds) if inside.text else None


def side_by_side(*parts: Part) -> Html | None:
    """Return parts in columns where there is room, one after the other where there is not."""
    there = [part for part in parts if part is not None]
    if len(there) < 2:
        return join(there) if there else None
    columns = "\n".join(f"<div>\n{part.text}\n</div>" for part in there)
    return Html(f'<div class="columns">\n{columns}\n</div>', join(there).kinds)


def fold(title: str, *parts: Part) -> Html | None:
    """Return parts behind their title, which opens them; None where they would be empty."""
    inside = join(parts)
    return Html(f"<details>\n<summary>{safe(title)}</summary>\n{inside.text}\n</details>",
                inside.kinds) if inside.text else None


def sentence(text: str, kind: str = "") -> Html:
    """Return a paragraph."""
    return Html(f"<p{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{safe(text, LONG)}</p>")


def figure(drawn: Figure | None, caption: str = "") -> Html | None:
    """Return a figure with its caption."""
    return None if drawn is None else frame_picture(Html(inline(drawn), frozenset(drawn.kinds)), caption)


def frame_picture(picture: Html, caption: str = "") -> Html:
    """Return a picture with its caption."""
    said = f"\n<figcaption>{safe(caption, LONG)}</figcaption>" if caption else ""
    return Html(f"<figure>\n{picture.text}{said}\n</figure>", picture.kinds)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], numeric: Sequence[int] = (),
          whole: Sequence[int] = (), *, said: bool = False, pinned: bool = False) -> Html | None:
    """Return a table; columns of numbers are aligned right, those in `whole` never broken; None without rows.

    Empty columns are left out. With `said` the last column is a sentence, which a narrow screen sets below; with
    `pinned` the first one stays while the others are scrolled.
    """
    if not rows:
        return None
    sides = {i: ' class="n"' if i in numeric else ' class="w"' if i in whole else ""
             for i in range(len(head)) if any(row[i] not in NOTHING for row in rows)}
    top = "".join(f"<th{BRIEF if i in numeric and len(head[i]) <= LEAST else side}>{safe(head[i])}</th>"
                  for i, side in sides.items())
    lines = ["".join(f"<td{side}>{safe(row[i], LONG)}</td>" for i, side in sides.items()) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    kind = ' class="said"' if said else ' class="pinned"' if pinned else ""
    return Html(f'<div class="wide"><table{kind}>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
                "</div>")


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Return names with their values."""
    rows = "\n".join(f"<dt>{safe(name)}</dt><dd>{safe(value, LONG)}</dd>" for name, value in pairs)
    return Html(f"<dl>\n{rows}\n</dl>")


def figures(pairs: Iterable[tuple[str, object]]) -> Html:
    """Return names with single numbers, in as many columns as there is room for."""
    rows = "\n".join(f"<div><dt>{safe(name)}</dt><dd>{safe(value)}</dd></div>" for name, value in pairs)
    return Html(f'<dl class="figures">\n{rows}\n</dl>')


def verbatim(text: str, lines: int = 400, width: int = 200) -> Html:
    """Return the text of a file, with lines of more than `width` signs and long files cut."""
    rows = text.splitlines()
    more = [f"... {len(rows) - lines:,} more lines"] if len(rows) > lines else []
    return Html("<pre>" + "\n".join(safe(row, width) for row in [*rows[:lines], *more]) + "</pre>")


def badge(text: str, kind: str) -> str:
    """Return a word that stands out: good, bad or plain."""
    return f'<span class="badge {kind}">{safe(text)}</span>'


def document(title: str, head: str, body: Html, *, policy: str = POLICY, style: str = "") -> str:
    """Return a whole page that loads nothing, and runs only the scripts that its policy names."""
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{safe(title)}</title>\n<style>\n{STYLE}{style}{style_sheet(body.kinds)}\n</style>\n"
            "</head>\n<body>\n"
            f"<header>\n<h1>{safe(title)}</h1>\n{head}\n</header>\n<main>\n{body.text}\n</main>\n</body>\n</html>\n")


STYLE = f"""
:root{{--ground:{GROUND[0]};--text:#22262d;--soft:#5d6673;--line:#dfe3e8;--tint:#f5f7f9;--link:#0072b2;--shade:#aab2bd;
  --good:#00664a;--good-tint:#dff3ec;--bad:#9c2f05;--bad-tint:#fde7dc}}
@media screen and (prefers-color-scheme:dark){{:root{{--ground:{GROUND[1]};--text:#dfe3e9;--soft:#a0a9b6;--line:#333a45;
  --tint:#1e232b;--link:#4ba3e3;--shade:#5a6473;--good:#6fdcb8;--good-tint:#12352b;--bad:#ffab85;--bad-tint:#43210f}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;padding:1.5rem 1.25rem 4rem;max-width:88rem;background:var(--ground);color:var(--text);
  font:15px/1.5 system-ui,sans-serif}}
h1{{font-size:1.5rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}}
h2{{font-size:1.1rem;margin:2.2rem 0 .6rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}}
p{{margin:.5rem 0;overflow-wrap:anywhere}} .lead{{font-size:1.02rem}} .soft,figcaption{{color:var(--soft)}}
figure{{margin:1rem 0}} figcaption{{font-size:.87rem;margin-top:.3rem;max-width:46rem}}
svg{{display:block;max-width:100%;height:auto}}
.parts{{display:grid;align-items:start}} .parts>svg{{overflow:visible}} .key{{margin-top:var(--down)}}
.badge{{display:inline-block;border-radius:.7rem;padding:.1rem .6rem;margin:0 .4rem .3rem 0;font-size:.85rem;
  background:var(--tint);border:1px solid var(--line)}}
.good{{color:var(--good);background:var(--good-tint)}} .bad{{color:var(--bad);background:var(--bad-tint)}}
.columns{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr));gap:0 2.5rem;
  align-items:start}}
.columns>*{{min-width:0}}
@media screen{{section>.columns:not(:has(.parts)){{grid-template-columns:
  repeat(auto-fit,minmax(min(100%,28rem),1fr))}}}}
summary{{cursor:pointer;color:var(--link);margin:.6rem 0}} section>details>summary{{font-weight:600}}
.wide,figure{{overflow-x:auto}}
.wide{{background:linear-gradient(90deg,var(--ground) 40%,transparent),
  linear-gradient(270deg,var(--ground) 40%,transparent) 100% 0,linear-gradient(90deg,var(--shade),transparent),
  linear-gradient(270deg,var(--shade),transparent) 100% 0;background-repeat:no-repeat;
  background-size:3rem 100%,3rem 100%,.9rem 100%,.9rem 100%;background-attachment:local,local,scroll,scroll}}
table{{border-collapse:collapse;font-size:.9rem;margin:.4rem 0}}
th,td{{text-align:left;padding:.22rem .9rem .22rem 0;border-bottom:1px solid var(--line);vertical-align:top;
  overflow-wrap:anywhere}}
td:not(.n,.w){{min-width:5.5em}}
th{{font-weight:600;color:var(--soft)}} .n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
th.n:not(.brief){{white-space:normal;overflow-wrap:normal}}
.w{{white-space:nowrap}}
.pinned tr>:first-child{{position:sticky;left:0;background:var(--ground)}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:.4rem 0;font-size:.93rem}}
.figures{{display:block;columns:19rem auto;column-gap:2.5rem}}
.figures div{{display:flex;justify-content:space-between;gap:1rem;padding:.08rem 0;border-bottom:1px solid var(--line);
  break-inside:avoid;max-width:24rem}}
dt{{color:var(--soft)}} dd{{margin:0;overflow-wrap:anywhere}}
pre{{background:var(--tint);border:1px solid var(--line);border-radius:.3rem;padding:.6rem .8rem;font-size:.82rem;
  line-height:1.4;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}}
@media screen and (max-width:40rem){{table{{font-size:.8rem}} th,td{{padding-right:.5rem}}
  td:not(.n,.w){{min-width:5.2rem}} td:first-child:not(.n,.w){{min-width:7.6rem}}
  svg .small,svg .taxon,svg .text{{font-size:var(--letters)}} svg .title{{font-size:calc(1.12*var(--letters))}}
  .parts{{grid-template-columns:1fr 1fr!important}} .parts>svg{{grid-area:auto!important;width:100%}}
  .parts>.broad,.parts>.key{{grid-column:1/-1!important}} .parts>.key{{width:auto;margin-top:0}}
  .dense{{max-width:none}}
  .said,.said>*{{display:block}} .said tr{{display:flex;flex-wrap:wrap;gap:0 .6rem;padding:.3rem 0;
  border-bottom:1px solid var(--line)}} .said td,.said th{{border:0;padding:0;flex:1}}
  .said .n{{flex:0 0 4.6rem}} .said tr>:last-child{{flex:0 0 100%}}
  .said thead tr>:last-child{{display:none}} .said .w{{white-space:normal}}
  dl{{grid-template-columns:minmax(4rem,8rem) 1fr;gap:.3rem .7rem}}}}
ul{{padding-left:1.1rem}} li{{margin:.25rem 0}}
@page{{margin:14mm}}
@media print{{body{{max-width:none;padding:0;font-size:9pt;line-height:1.4}} figure,tr,li{{break-inside:avoid}}
  h2,pre{{break-after:avoid}} h2{{margin:.7rem 0 .3rem;font-size:1rem}} p{{margin:.25rem 0}}
  .wide,figure{{overflow:visible}} figure{{margin:.5rem 0}}
  .columns{{display:block}} figure .columns,section>.columns{{display:grid;grid-template-columns:1fr 1fr;gap:0 1rem}}
  details:not([open])>summary{{list-style:none;font-weight:400;font-size:8pt;color:var(--soft);margin:.2rem 0}}
  details:not([open])>summary::after{{content:" (folded; printed where it is open)"}} .advice{{display:none}}
  .columns .columns .pile{{grid-template-columns:1fr!important}}
  .columns .columns .pile>svg{{grid-area:auto!important;margin-top:0}}
  .lead{{font-size:9.5pt}} table,dl{{font-size:.75rem}}
  dl{{gap:.05rem 1rem}} td,th{{padding-top:.1rem;padding-bottom:.1rem}}
  .badge{{print-color-adjust:exact}} figcaption{{font-size:8pt}}
  .parts,:not(.parts)>svg{{zoom:.66}} svg{{max-height:140mm}}}}
"""
