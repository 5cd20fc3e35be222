"""Writes the generated pages from the declarations they describe; `--check` only compares.

Made here: docs/methods/*.md, docs/gallery.sh, docs/recipes.sh, docs/tutorials/*.sh, docs/commands.md, docs/api.md,
docs/config.md, docs/errors.md, docs/stages.md, docs/metrics.md, docs/mlcli.1, docs/methods.md,
configs/mlcli.schema.json, mlcli/sklearn/__init__.pyi, mlcli/SKILL.md, and the lists of methods in the README and in
zensical.toml.
"""

import ast
import gc
import re
import sys
from difflib import unified_diff
from functools import cache
from pathlib import Path

from estimators import stubs
from manual import manual
from method_page import inputs_of, method_page, other_names, table, title
from reference import api_page, commands_page
from skill import skill

import mlcli
from mlcli import errors
from mlcli.cli.commands.methods import families
from mlcli.cli.line.parsing import in_flags
from mlcli.config.describe import rows
from mlcli.config.run_config import RunConfig
from mlcli.config.schema import schema_text
from mlcli.core.metrics import METRICS
from mlcli.findings import STAGES
from mlcli.methods import METHODS

ROOT = Path(__file__).parents[1]
PACKAGE = Path(mlcli.__file__).parent
RECIPES = ROOT / "docs" / "recipes.md"  # of data that are not in the repository
SCRIPTS = [*(ROOT / "docs" / f"{name}.md" for name in ("gallery", "same-data", "framework", "notes", "failures")),
           *sorted((ROOT / "docs" / "tutorials").glob("*.md")), RECIPES]
MADE = "<!-- made by `python docs/generate.py`; change the declarations instead -->\n"
WRITTEN = ("README.md", "methods.md", "SKILL.md")  # of which only a part is made, or which begins otherwise
TABLE = "<!-- methods: made by `python docs/generate.py` -->"
NAVIGATION = "    # methods: made by `python docs/generate.py`"


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    made = {ROOT / "docs" / "methods" / f"{name}.md": method_page(name, kind) for name, kind in METHODS.items()}
    made[ROOT / "docs" / "config.md"] = config_page()
    made[ROOT / "docs" / "commands.md"] = commands_page()
    made[ROOT / "docs" / "api.md"] = api_page()
    made[ROOT / "docs" / "errors.md"] = errors_page()
    made[ROOT / "docs" / "stages.md"] = stages_page()
    made[ROOT / "docs" / "metrics.md"] = metrics_page()
    made[ROOT / "docs" / "mlcli.1"] = manual()
    made[ROOT / "mlcli" / "SKILL.md"] = skill()
    made[ROOT / "mlcli" / "sklearn" / "__init__.pyi"] = stubs()
    made |= {page.with_suffix(".sh"): script(page) for page in SCRIPTS}
    made[ROOT / "README.md"], made[ROOT / "docs/methods.md"] = readme(), methods_page()
    made[ROOT / "zensical.toml"] = navigation()
    made[ROOT / "configs" / "mlcli.schema.json"] = schema_text()
    return made


def script(page: Path) -> str:
    """The commands of a tutorial, in the order of the page."""
    text = page.read_text(encoding="utf-8")
    head = f"# {text.splitlines()[0].lstrip('# ')}; made of {page.name} by `python docs/generate.py`\nset -eu\n\n"
    return head + "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def readme() -> str:
    """The README with its list of methods made anew."""
    listed = ", ".join(f"[`{name}`](docs/methods/{name}.md)" for name in METHODS)
    return _renewed(ROOT / "README.md", [f"{listed}."])


def methods_page() -> str:
    """The page of all methods with its tables, one for each family, made anew."""
    lines = []
    for heading, names in families().items():
        lines += [f"### {heading}", "", "| method | name | takes | in one sentence |", "|---|---|---|---|"]
        for name in names:
            kind = METHODS[name]
            sentence = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
            lines.append(f"| [`{name}`](methods/{name}.md) | {title(kind)} | {inputs_of(kind)} | {sentence} |")
        lines.append("")
    return _renewed(ROOT / "docs/methods.md", lines[:-1], end="\n\n## ")


def navigation() -> str:
    """The navigation of the site with its pages of methods made anew."""
    lines = []
    for heading, names in families().items():
        lines += [f'    {{ "{heading}" = [', *(f'      {{ "{name}" = "methods/{name}.md" }},' for name in names),
                  "    ] },"]
    return _renewed(ROOT / "zensical.toml", lines, NAVIGATION, "\n  ] }")


def _renewed(page: Path, lines: list[str], mark: str = TABLE, end: str = "\n\n") -> str:
    """A page with other lines between its mark and the next `end`."""
    before, _, rest = page.read_text(encoding="utf-8").partition(f"{mark}\n")
    return before + "\n".join([mark, *lines]) + rest[rest.index(end):]


def config_page() -> str:
    """All sections but the method's, which each method's page holds."""
    intro = ("One YAML file holds all options of a run: sections `input`, `prepare`, `method`, `compute`, "
             "`report` and the key `output`. Later sources win: defaults, the file, the environment "
             "(`MLCLI__COMPUTE__THREADS=4`), `--set compute.threads=4`, flags. Unknown and repeated keys are errors. "
             "A top-level `sweep:` makes several runs, see [Sweeps and several inputs](sweeps.md).\n\n"
             "[Preparation](prepare.md) says what the preparation does, and in which order. The method's options are "
             "on the pages of the [methods](methods.md).")
    general = [row for row in rows(RunConfig) if not row.path.startswith("method") and row.type != "a section"]
    return "\n\n".join(["# Configuration", intro, table(general, "")]) + "\n"


def metrics_page() -> str:
    """How each metric is defined, and which numbers it takes."""
    owners = [name for name, kind in METHODS.items() if "metric" in kind.model_fields]
    intro = ("`method.metric` (`--metric`) says how far apart two rows are, for the methods that work from distances "
             f"or neighbors: {', '.join(owners)}. In YAML `metric: braycurtis`, or with parameters `metric: {{name: "
             "minkowski, p: 3}`. It is chosen for features only: distances that are given stay as they are.")
    domain = ("A row that a metric is not defined for (`E-METRIC`) is refused before anything is computed, with its "
              "id, the column and a remedy. New points are held to the same, and placed under the same metric. "
              "Neighbors are exact under every metric. Rows are compared as `prepare` leaves them: a scale that "
              "centers columns makes numbers below zero of amounts.")
    sections = [f"## `{name}`\n\n{' '.join((kind.__doc__ or '').split())}{other_names(METRICS.other_names(name))}"
                for name, kind in METRICS.items()]
    return "\n\n".join(["# Metrics", intro, domain, *sections]) + "\n"


def stages_page() -> str:
    """What each stage of a run does."""
    intro = ("`mlcli plan`, progress, `run.json` (under `stages`) and the report list the same stages of a run, by the "
             "same names and in the same order: the plan with the seconds and bytes that it predicts, `run.json` and "
             "the report with the seconds that a stage took and the most memory that the process had held by its end. "
             "A stage that does nothing is not listed. One that runs several times is listed once, with all its "
             "seconds.")
    passes = ("Of a kernel that is never stored, paths, kernel and centering are computed within each pass of the "
              "eigensolve, which the plan says. The passes themselves are parts of a stage, as is every other piece of "
              "work inside one: progress names them (`eigensolve, pass 2 17/36`), with `--progress json` under `part`. "
              "Work on the report comes after `run.json` has been filled in, and its seconds are not in there.")
    lines = ["| stage | what it does |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in STAGES.items())]
    return "\n\n".join(["# Stages", intro, passes, "\n".join(lines)]) + "\n"


def errors_page() -> str:
    """Exit codes from the error tree, and every stable code from where it is raised."""
    branches = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    head = ["# Exit codes, errors and warnings",
            "An error is one line, `mlcli: error[E-CODE]: what; where; what to do`, and under `--json` one JSON object "
            "on standard error. Codes from 129 on mean a signal or lack of memory, and a retry can help; with the "
            "others change something first. Under `--strict` the first warning ends the run: with 80 if an iteration "
            "did not converge (`W-UNCONVERGED`), else with 65.",
            "",
            "**Output after an error.** After any nonzero exit the output directory is absent, with one exception: if "
            "the run was complete and only its summary failed or was interrupted (74, 141, or a signal), it stays. "
            "After 80 the results are in `OUTPUT.failed/`. An earlier output is kept, unless `--force` was given and "
            "the run succeeded. `--force` replaces a run (a directory with a `run.json` and no foreign files), or for "
            "a command that writes a file, a regular file. Files that another program puts into a run while `--force` "
            "removes it are kept in `OUTPUT.kept/` (`W-KEPT`). A killed process leaves its unfinished files beside "
            "the output in a hidden draft, `.OUTPUT....folder` or `.OUTPUT....file`; the next start in that folder "
            "removes it if file locks show that its writer is dead. [Stopping and resuming](stopping.md) says what a "
            "stopped run saves to resume from.",
            "",
            "**Two processes.** `mlcli` is a small process, whose number the shell has, and one that computes. After "
            "a signal the second one has 0.15 seconds to clean up; then, or on a second signal, the first one ends it "
            "and removes unfinished files, also inside of LAPACK. If the second one dies, the first one reports the "
            "stage and the memory, and exits with 137 if the system killed it, as it does when memory runs out, 74 "
            "after SIGBUS (a mapped file became shorter, or its disk is full), 65 if a reader of the input crashed, "
            "else 1. SIGIO, SIGVTALRM and SIGPROF end both without cleaning up, as SIGKILL does; the next start "
            "removes their remains. SIGINT while Python itself starts, in about the first 60 ms, ends with Python's "
            "own message.",
            "",
            "| exit | when |", "|---|---|", "| 0 | the run is complete |"]
    exits = [f"| {kind.exit_code} | {(kind.__doc__ or '').splitlines()[0]} |" for kind in branches]
    ends = ["| 141 | The reader of standard output has gone. |"]
    listed = ["## Error codes", "| code | exit | says | what to do |", "|---|---|---|---|",
              *(f"| `E-{code}` | {number} | {says} | {in_flags(hint)} |"
                 for (code, number), (says, hint) in raised_codes())]
    notes = ["## Warnings and notes", "Warnings (`W-`) and notes (`N-`) are written to `run.json`. At the end of a run "
             "warnings are printed, and notes of rows, columns and options that were left out, read in doubt or "
             "changed; with `--verbose` all notes.",
             "| code | says |", "|---|---|",
             *(f"| `{code}` | {in_flags(text)} |" for code, text in sorted(noted_codes().items()))]
    findings = ["## Findings of a checkup", "What `mlcli check` reports, and under `--strict` ends with 65 for; "
                "[Data check](check.md) explains the lines around them.",
                "| code | says | what to do |", "|---|---|---|",
                *(f"| `{code}` | {says} | {in_flags(advice)} |"
                  for code, (says, advice) in sorted(found_codes().items()))]
    parts = [spaced(part) for part in (listed, notes, findings)]
    lines = ["\n\n".join(head[:2]), *head[2:], *exits, *ends, *(line for part in parts for line in ("", *part))]
    return "\n".join(lines) + "\n"


def spaced(lines: list[str]) -> list[str]:
    """A heading set off from its table."""
    return [part for line in lines for part in ((line, "") if not line.startswith("|") else (line,))]


def raised_codes() -> list[tuple[tuple[str, int], tuple[str, str]]]:
    """Code and exit code of every error that the package can raise, with each of its messages, read from its source."""
    found: dict[tuple[str, int], dict[str, list[str]]] = {}
    for function, call in (*((None, call) for call in calls()), *calls_with_codes_passed()):
        hint = "".join(template(word.value) for word in call.keywords if word.arg == "hint")
        for kind in error_kinds(call):
            for code, words in coded(function, call):
                found.setdefault((code, kind.exit_code), {}).setdefault(words, []).append(hint)
    told = {code: [(words, "; or: ".join(dict.fromkeys(plain(hints)))) for words, hints in messages.items()]
            for code, messages in sorted(found.items())}
    return [(code, message) for code, messages in told.items()
            for message in [one for one in messages if {*one} - EMPTY] or messages[:1]]


def error_kinds(call: ast.Call) -> list[type[errors.MlcliError]]:
    """The errors that a call may make: one, several where it chooses or looks them up, or none."""
    names = [node.id for node in ast.walk(call.func) if isinstance(node, ast.Name)] if len(call.args) > 1 else []
    kinds = [kind for name in names for kind in entries(getattr(errors, name, None))]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, errors.MlcliError)]


def entries(found: object) -> list[object]:
    """The values of a table, or anything else by itself."""
    return list(found.values()) if isinstance(found, dict) else [found]


def calls_with_codes_passed() -> list[tuple[ast.FunctionDef, ast.Call]]:
    """Every call that makes an error whose code is a parameter of the function around it."""
    return [(function, call) for part in nodes() for function in part if isinstance(function, ast.FunctionDef)
            for call in part if isinstance(call, ast.Call) and function.lineno <= call.lineno <= function.end_lineno
            and call.args and isinstance(call.args[0], ast.Name) and error_kinds(call)]


def coded(function: ast.FunctionDef | None, call: ast.Call) -> list[tuple[str, str]]:
    """The codes that an error may have, with their words: its own, or those of all calls of its function."""
    if function is None:
        return [(code, template(call.args[1])) for code in texts(call.args[0])]
    place = [parameter.arg for parameter in function.args.args].index(ast.unparse(call.args[0]))
    given = [texts(ast.Tuple(other.args[place:place + 2])) for other in calls()
             if getattr(other.func, "id", "") == function.name]
    return [(code, f"… {words}") for code, words in given]


def noted_codes() -> dict[str, str]:
    """The code of every warning and note, with its messages where those are plain enough to show."""
    found: dict[str, list[str]] = {}
    for call in calls():
        if getattr(call.func, "id", "") == "note" and len(call.args) > 1:
            for code in texts(call.args[0]):
                found.setdefault(code, []).append(template(call.args[1]))
    told = {code: "; or: ".join(dict.fromkeys(plain(said))) for code, said in found.items()}
    return {code: text for code, text in told.items() if not code.startswith("F-")}


EMPTY = {"", "…"}  # a text that is not known before it is said


def plain(said: list[str]) -> list[str]:
    """Messages that are more than a placeholder; the first where there are no such messages."""
    return [text for text in said if text not in EMPTY] or said[:1]


def found_codes() -> dict[str, tuple[str, str]]:
    """The code of every finding of a checkup, with its sentence and its advice."""
    found: dict[str, tuple[str, str]] = {}
    for call in calls():
        if getattr(call.func, "id", "") == "Finding" and len(call.args) == 4:
            for code in texts(call.args[0]):
                found.setdefault(code, (template(call.args[2]), template(call.args[3])))
    return found


@cache
def calls() -> list[ast.Call]:
    """Every call in the package's source."""
    return [node for part in nodes() for node in part if isinstance(node, ast.Call) and node.args]


@cache
def nodes() -> list[list[ast.AST]]:
    """The functions and calls in the package's source, file by file."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")))
    return [[node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.Call)]
            for text in texts]


def texts(node: ast.expr) -> list[str]:
    """The texts that an argument may be."""
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def template(node: ast.expr) -> str:
    """A message with an ellipsis for what it fills in."""
    if isinstance(node, ast.BoolOp):  # words chosen where others are lacking
        return template(node.values[-1])
    if isinstance(node, ast.BinOp):  # words, and more of them
        return f"{template(node.left)}{template(node.right)}".replace("……", "…")
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
    return " ".join(text.replace("|", "\\|").split())


def main() -> int:
    """Writes the pages and prints the lines that change, as those of messages in errors.md; --check only prints."""
    gc.disable()  # what is parsed stays to the end; to look through it again and again took half of the time
    stale = []
    for path, text in pages().items():
        whole = MADE + text if path.suffix == ".md" and path.name not in WRITTEN else text
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        if before != whole:
            stale.append(path)
            print(path.relative_to(ROOT))
            print(*[line for line in unified_diff(before.splitlines(), whole.splitlines(), n=0, lineterm="")
                    if line.startswith(("-", "+")) and not line.startswith(("---", "+++"))], sep="\n")
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(whole, encoding="utf-8")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
