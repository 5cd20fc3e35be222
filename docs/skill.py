"""The page that a language model works from, `mlcli/SKILL.md`, from the same declarations as --help."""

import inspect

from manual import exits_by_code, paragraphs

from mlcli.cli.commands.methods import families
from mlcli.cli.commands.methods import paragraphs as paragraphs_of
from mlcli.cli.group import COMMANDS, command
from mlcli.cli.line.options import sentence
from mlcli.cli.screen.summary import FIRST, LAST
from mlcli.config.flags import FLAGS, rows_of
from mlcli.config.headings import OFTEN
from mlcli.findings import FINDINGS
from mlcli.methods import METHODS

HEAD = """---
name: mlcli
description: Reduce tables, distance matrices and graphs to a few dimensions at the command line (PCA, factor \
analysis, MDS, Isomap, LLE, t-SNE, UMAP and others), with measures of quality, a report and checked numbers. Use it to \
embed, visualize or compress data, to place new rows, and to compare methods.
---
<!-- made by `python docs/generate.py`; change the declarations instead -->
# mlcli

Print this page: `mlcli help --agent`.

## In this order

1. `mlcli check data.csv --json`: kinds of columns, missing cells, duplicates, scales; act on its findings.
2. `mlcli plan data.csv -m METHOD --json`: the stages, seconds and memory of a run that is not made. Exit code 82 if \
it would not fit; it reads the file as the run does, so a wrong option or column shows here.
3. `mlcli embed data.csv -m METHOD -o runs/NAME --json`: the run, with a summary as one JSON document.
4. Read the summary; `--json full` has everything. Judge by `quality`, and compare with `pca` on the same data.
5. `mlcli project runs/NAME new.csv -o new_coordinates.csv` places new rows; `mlcli verify runs/NAME` checks it again.

## Rules

- Standard output holds only what was asked for: JSON, or a table with `-o -`. Lines for people go to standard error.
- An error is one line, `mlcli: error[E-CODE]: what; where; what to do`, and under `--json` one JSON object, \
`{"error": {"code", "exit", "what", "where", "hint"}}`. Do what the hint says; do not parse the text before it.
- After an error there is no run; after exit code 80 what was computed is in `OUTPUT.failed`. A run is never replaced \
without `--force`; `--skip-existing` keeps what is done.
- Warnings (`W-`) say that a result may not be what was meant: pass them on to the user. `--strict` makes them errors.
- Any option can be set by its path, `--set section.key=VALUE`; `mlcli methods METHOD --json` lists those of a method, \
`mlcli schema` all, and `mlcli embed --help` the flags.
- Several values, `-m pca,isomap -k 8,12`, make a run each; `runs.csv` beside them has a row for each.
- Columns of text become ids or labels, never numbers. Name them where it matters: `--id-column`, `--label-column`.
- The same input, options and version give the same result; `--seed` changes random starts.
- `mlcli data.csv` is `mlcli embed data.csv`, and `mlcli umap data.csv` is `mlcli embed -m umap data.csv`."""


def skill() -> str:
    """Return the whole page."""
    keys = ", ".join(f"`{key}`" for key in (*FIRST, *(name for name, one in FINDINGS.items() if one.headline()), *LAST))
    measures = ", ".join(f"`{key}`" for key in FINDINGS["quality"].headline() if not key.endswith("_se"))
    return "\n".join([
        HEAD, "", "## Commands", "", *(line for name in COMMANDS for line in about(name)), "",
        "## Options of `embed` that most runs need", "",
        *(f"- `{', '.join(flag.names)}`: {sentence(flag, rows_of(flag))}"
          for name, flag in FLAGS.items() if flag.heading == OFTEN and name != "method"), "",
        "## Methods", "", *methods(), "",
        "## The summary (`--json`)", "",
        f"Keys: {keys}. `error` and `skipped` are there only where they apply; several runs are in a list `runs`. "
        f"`quality` has {measures} (1 is best for the first two, 0 for the others), `dimension` the recommended number "
        "of axes and the rule. `certificate` is `pass`, or `unchecked` where no number could be checked.", "",
        "## Files of a run", "", *files(), "",
        "## Exit codes", "", *(f"- {code}: {text}" for code, text in exits_by_code().items())]) + "\n"


def about(name: str) -> list[str]:
    """Return a command with its sentence and its examples."""
    known = command(name)
    first, *rest = paragraphs(known.help)
    lines = [line.strip() for part in rest if part.startswith("\b") for line in part.lstrip("\b\n").splitlines()]
    return [f"- **{name}**: {first}", *(f"  - `{line.partition('   ')[0]}`" for line in lines)]


def methods() -> list[str]:
    """Return the methods by family, each with its sentence and other names."""
    lines = []
    for title, names in families().items():
        lines.append(f"- {title}")
        for name in names:
            said = " ".join(paragraphs_of(name)[0].split())
            kinds = dict.fromkeys(kind.kind for kind in METHODS[name].accepts)
            lines.append(f"  - `{name}`: {said} Input: {', '.join(kinds)}.")
    return lines


def files() -> list[str]:
    """Return the files that findings write, each with what its finding holds, and those that every run has."""
    own = ["- `embedding.csv`: id, y1, y2, ..., then labels. `config.yaml` repeats the run (`mlcli run`), `run.json` "
           "has all facts with the hash of every file, `certificate.json` the checks, `report.html` the page."]
    found = [f"- {', '.join(f'`{file.name}`' for file in one.files)}: {(inspect.getdoc(one) or '').splitlines()[0]}"
             for one in FINDINGS.values() if one.files]
    return own + found
