"""The page report.html: the whole report of a run, and its parts about the run itself."""

from collections.abc import Mapping
from dataclasses import replace
from shlex import quote
from typing import Any

from mlcli.base.units import percent
from mlcli.config.describe import differences
from mlcli.findings import FINDINGS, stage_sentence
from mlcli.findings.finding import Place
from mlcli.findings.frame.finished_run import FinishedRun, columns_in_words, files_in
from mlcli.findings.frame.onto import fit_alone
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.html import (
    Html,
    Part,
    badge,
    document,
    facts,
    figure,
    figures,
    fold,
    join,
    section,
    sentence,
    side_by_side,
    table,
    verbatim,
)
from mlcli.report.drawing.text import four_digits, in_words, number, safe
from mlcli.report.figures.overlays import new_points_over
from mlcli.report.page import embedding

OF_COLUMNS = ("uniquenesses", "variances", "sampling_adequacy")  # figures in the table of loadings, or behind it
OF_GROUPS = ("weights", "first_eigenvalues")  # figures in the table of groups
FILES = 20  # largest number of files of an input that are named
LISTED = 20  # largest number of columns or classes with figures


def fit(run: FinishedRun) -> Part:
    """Return the figures of the fit: single numbers, and one for every column or class."""
    found = run.fit
    single = [(in_words(name), _cell(value)) for name, value in found.items()
              if value is None or isinstance(value, int | float)]
    loadings = LoadingsFinding.of(run)
    columns = set() if loadings is None else set(loadings.texts(next(iter(loadings.columns))))
    grouped = "groups" in run.findings and getattr(run.config.method, "places_partial", False)
    each = {in_words(name): values for name, values in found.items() if isinstance(values, Mapping)
            and not (name in OF_COLUMNS and columns and columns.issuperset(values))
            and not (name in OF_GROUPS and grouped)}
    cut = any(len(values) > LISTED for values in each.values())
    alone = fit_alone(run.manifest)
    return section("Fit", sentence(f"These figures are {alone}.") if alone and found else None,
                   figures(single) if single else None, *(
        table((name, "value"), [(key, _cell(value)) for key, value in list(values.items())[:LISTED]], (1,))
        for name, values in each.items()),
                   sentence(f"The first {LISTED}; run.json has all of them.", "soft") if cut else None)


def _cell(value: float | None) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else four_digits(value)


def heading(run: FinishedRun) -> str:
    """Return the verdicts at a glance, and the size of the run in a line."""
    warnings = len(run.manifest.get("warnings", ()))
    badges = [badge(*verdict(run.certificate))] if run.certificate is not None else []
    badges += [badge(f"{warnings} warning{'' if warnings == 1 else 's'}", "bad")] if warnings else []
    given, made = run.manifest["input"], run.manifest["embedding"]
    columns = columns_in_words(given)
    axes = f"{number(made['components'])} {'axis' if made['components'] == 1 else 'axes'}"
    sizes = (f"the {kind_of(run)}s of {number(given['columns'])} columns → loadings on {axes}"
             if given.get("kind") == "covariance" else
             f"{number(given['rows'])} points, {number(given.get('edges'))} edges → "
             f"{number(made['rows'])} rows × {axes}" if given.get("kind") == "graph" else
             f"{number(given['rows'])} rows × {columns} → {number(made['rows'])} rows × {axes}")
    if (onto := run.manifest.get("onto")) is not None:
        sizes = (f"{number(onto['old'])} rows of {safe(str(onto['run']), 80)} and {number(onto['new'])} new ones → "
                 f"{number(made['rows'])} rows × {axes}")
    line = (f"{sizes}, "
            f"{run.manifest.get('seconds', 0):.3g} s, finished {_moment(str(run.manifest.get('finished', 'unknown')))}")
    return f"{''.join(badges)}\n<p class=\"soft\">{safe(line, 300)}</p>"


def _moment(text: str) -> str:
    """Return a time of the manifest for people: to the minute."""
    return f"{text[:16].replace('T', ' ')} UTC" if text.endswith("+00:00") else text


def kind_of(run: FinishedRun) -> str:
    """Return the kind of the input; correlations, which are covariances to a method, by their own name."""
    asked = run.config.input.kind
    return asked if asked == "correlation" else str(run.manifest["input"].get("kind"))


def verdict(certificate: Mapping[str, Any]) -> tuple[str, str]:
    """Return the certificate's verdict in words, and the kind of its badge."""
    return {"pass": ("certificate passed", "good"), "warn": ("certificate passed with warnings", "plain"),
            "unchecked": ("no number checked", "plain"),
            }.get(str(certificate.get("verdict")), ("certificate failed", "bad"))


WAYS = {
    "fixed": "Rows of that map keep their coordinates to the last bit. New ones were placed among them, so that the "
             "map is neither centered nor turned anew{fit}.",
    "tied": "All rows were moved so that the objective of the method and a penalty on squared distances of former rows "
            "from their former places are least together: the map is neither centered nor turned anew.",
    "refit": "All rows were fitted anew, and the result was turned, mirrored and moved so that the rows of that map "
             "come as near to their former places as they can{axes}."}


def way_of(run: FinishedRun) -> str:
    """Return how rows were added to a map, and of what fit the axes, spectrum and loadings are that a run has."""
    has = [*(("axes", "spectrum") if run.manifest.get("spectrum") else ()),
           *(("loadings",) if LoadingsFinding.of(run) is not None else ())]
    said = f"{', '.join(has[:-1])} and {has[-1]}" if len(has) > 1 else "".join(has)
    return WAYS[run.manifest["onto"]["way"]].format(
        fit=f", and its {said} are those of the fit that it began with" if has else "",
        axes=": axes need not be those of the spectrum any more" if "spectrum" in has else "")


def added_rows(run: FinishedRun) -> Part:
    """Return what a run added to the map of another: how, and the line of runs that the map grew from."""
    onto = run.manifest.get("onto")
    if onto is None:
        return None
    pairs = [("rows of that map", number(onto["old"])), ("new rows", number(onto["new"])),
             *([("rows that came again", number(onto["again"]))] if onto.get("again") else []),
             *([("with other numbers", number(onto["changed"]))] if onto.get("changed") else []),
             *([("of these placed anew", number(onto["placed"]))] if onto.get("placed") else []),
             *([("rows of the fit that places rows", number(onto["fit_rows"]))] if onto.get("fit_rows") else []),
             *([("weight of the penalty", number(onto["weight"]))] if onto.get("weight") is not None else []),
             *([("Procrustes m²", number(onto["m2"]))] if onto.get("m2") is not None else [])]
    line = [(str(one["run"]), number(one["rows"]), str(one.get("finished", "")), str(one["sha256"])[:12])
            for one in onto.get("ancestors", ())]
    return section("Rows added to a map", sentence(way_of(run)), facts(pairs), fold(
        f"the {len(line)} runs before it" if len(line) > 1 else "the run before it",
        table(("run", "rows", "finished", "SHA-256 of run.json"), line, (1,))))


def new_rows(run: FinishedRun) -> Part:
    """Return the rows that a run added over those of the former map; None where there are none, or rows are left out.
    """
    onto, table = run.manifest.get("onto"), run.embedding
    if onto is None or not onto["new"] or not table.values.size or len(table.ids) != onto["old"] + onto["new"]:
        return None
    old = onto["old"]
    drawn = new_points_over(table.values[:old], table.values[old:], table.ids[old:], {}, axes=run.axes, seed=run.seed)
    return section("New rows", figure(drawn, "Rows of the former map are gray."))


def what_was_run(run: FinishedRun) -> Part:
    """Return method, input, sizes, seed, versions, and the options that differ from their defaults."""
    given, made = run.manifest["input"], run.manifest["embedding"]
    files, columns = files_in(given)[:FILES], columns_in_words(given).rpartition(" ")[0]
    dropped = f", {number(made['dropped'])} rows left out (dropped.csv)" if made.get("dropped") else ""
    reduced: list[tuple[str, str]] = []
    if (first := run.manifest.get("reduced")) is not None:
        share = "" if first.get("proportion") is None else f", {percent(first['proportion'])} of the variance"
        axes = f"{number(first['columns'])} columns to {number(first['components'])} axes"
        reduced = [("reduced by PCA", f"{axes}{share}")]
    pairs = [
        ("method", run.manifest["method"]), ("input", ", ".join(str(file["path"]) for file in files)),
        ("kind", f"{kind_of(run)}, {given.get('format') or 'unknown format'}"),
        ("rows × columns", f"{number(given['rows'])} × {columns}") if given["rows"] else ("columns", columns),
        *[(f"SHA-256 of {file['path'] if given.get('view') else 'the input'}", file.get("sha256") or "unknown")
          for file in files],
        *reduced,
        *([("embedding", f"{number(made['rows'])} × {number(made['components'])}{dropped}")] if made["rows"] else []),
        ("seed", run.manifest.get("seed")), ("threads", run.manifest.get("threads")),
        ("version", f"mlcli {run.manifest.get('mlcli')}"), *_versions(run.manifest)]
    changed = [(item.path, item.value, item.default) for item in differences(run.config)]
    return section("What was run", facts(pairs), sentence("Options that differ from their defaults:", "soft")
                   if changed else sentence("All options have their default values.", "soft"),
                   table(("option", "value", "default"), changed))


def _versions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the versions of packages and of the linear algebra library, without SciPy's own copy.

    That one is loaded in some runs only, not where the fit came from the cache.
    """
    packages = [f"{name} {version}" for name, version in manifest.get("versions", {}).items() if version]
    libraries = [f"{item['library']} ({item['kernel']}, {item['threads']} threads)"
                 for item in manifest.get("blas", ()) if item.get("used_by") != "scipy"]
    return [("versions", ", ".join(packages)), ("linear algebra", ", ".join(libraries))]


def warnings(run: FinishedRun) -> Part:
    """Return the warnings and notes of the run."""
    notes = [*run.manifest.get("warnings", ()), *run.manifest.get("notes", ())]
    rows = "\n".join(f"<li><strong>{safe(note['code'])}</strong> {safe(note['message'], 1000)}</li>" for note in notes)
    return section("Warnings and notes", Html(f"<ul>\n{rows}\n</ul>")) if notes else None


def certificate(run: FinishedRun) -> Part:
    """Return the checks of the run's numbers, each with its figure and its limit."""
    if run.certificate is None:
        return None
    word, kind = verdict(run.certificate)
    return section("Certificate", Html(f"<p>{badge(word, kind)}</p>"), sentence(
        "Computed at the end of the run from its own numbers; mlcli verify checks it again elsewhere.", "soft"),
        fold(f"{len(run.certificate.get('checks', ()))} checks", _checks(run.certificate)))


def _checks(certificate: Mapping[str, Any]) -> Part:
    rows = [(str(check["name"]).replace("_", " "), _figure(check.get("value")),
             "" if check.get("verdict") == "skipped" else number(check.get("tolerance")),
             check.get("verdict"), check.get("how") or "") for check in certificate.get("checks", ())]
    return table(("check", "found", "allowed", "verdict", "how"), rows, (1, 2), (0, 3))


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def timings(run: FinishedRun) -> Part:
    """Return seconds and peak memory of each stage."""
    stages = [stage for stage in run.manifest.get("stages", ()) if isinstance(stage, Mapping)]
    rows = [(stage["stage"], f"{stage['seconds']:.3f}", f"{stage.get('peak_memory_mib', 0):,.0f}",
             stage_sentence(stage["stage"])) for stage in stages]
    whole = sentence(f"{run.manifest.get('seconds', 0):.3f} s in total; memory is the peak up to the end of each "
                     "stage.", "soft")
    head = ("stage", "seconds", "peak memory, MiB", "what it does")
    return section("Timings", whole, fold("by stage", table(head, rows, (1, 2), (0,), said=True))) if rows else None


def how_to_repeat(run: FinishedRun) -> Part:
    """Return the commands and the configuration that repeat this run."""
    fed, given = " < DATA" if run.config.input.path == "-" else "", run.manifest["input"]
    read = f"DATA/{next(iter(given['files']))}" if given.get("files") else "DATA"
    lines = [f"pip install manifold-cli=={run.manifest.get('mlcli')}",
             "# where the run was made, as relative paths stay so:", f"mlcli run RUN/config.yaml -o again{fed}",
             f"sha256sum {read}", f"# {given.get('sha256') or 'unknown'}",
             *(line for file in files_in(given)[1:FILES] for line in (
                 f"sha256sum {quote(str(file['path']))}", f"# {file.get('sha256') or 'unknown'}"))]
    return section("How to repeat this run", verbatim("\n".join(lines)), fold("config.yaml", verbatim(run.config_text)))


def page(run: FinishedRun, *, cutoff: float | None = None) -> str:
    """Return the page of a run, without scripts and without network.

    Loadings below the cutoff are blank; without one, the run's configuration has it. Factor analysis, a run of
    polychoric correlations and one without rows begin with loadings and fit.
    """
    sections = sections_of(run if cutoff is None else replace(run, cutoff=cutoff))
    shown = join([embedding.embedding(run), new_rows(run), *sections[Place.PICTURE]])
    words = join([added_rows(run), *sections[Place.WORDS], warnings(run), *sections[Place.ADVICE]])
    factors = [*sections[Place.COLUMNS], fit(run)]
    items = run.config.method.columns_model == "own noise" or run.fit.get("polychoric")
    first = items or not run.embedding.values.size  # loadings, then scores
    parts = [*(factors if first else []), side_by_side(shown, words if words.text else None), *sections[Place.ROWS],
             *sections[Place.RESULT], *sections[Place.DECODER], *([] if first else factors), *sections[Place.DETAIL],
             what_was_run(run), certificate(run), timings(run),
             how_to_repeat(run)]
    return document(run.title, heading(run), join(parts))


def sections_of(run: FinishedRun) -> dict[Place, list[Part]]:
    """Return the sections of all findings of a run by their places."""
    sections: dict[Place, list[Part]] = {place: [] for place in Place}
    for name, finding in FINDINGS.items():
        for place, part in finding.sections(run.findings[name], run) if name in run.findings else ():
            sections[place].append(part)
    return sections
