"""Names that options have in other programs, and the options that have such a name or stand for it."""

from collections.abc import Mapping

from mlcli.config.run_config import RunConfig, section_rows

# names of scikit-learn's, and the flag or keyword of the same meaning
FLAGS_ELSEWHERE = {"n_components": "components", "n_neighbors": "neighbors", "random_state": "seed",
                   "n_jobs": "threads"}


def paths_for(flag: str) -> Mapping[str, str]:
    """Return the config paths of a name, as method.correction for --correction or `correction`, each with its value.

    The value is VALUE, or the formula of an option that other programs give another name, as sigma of a kernel.
    Sections have no value of their own, and are left out.
    """
    name = flag.partition("=")[0].lstrip("-").replace("-", "_")
    rows = [row for section in RunConfig.model_fields for row in section_rows(section)]
    sections = {row.path.rpartition(".")[0] for row in rows}
    options = [row for row in rows if row.path.count(".") and row.path not in sections]
    named = {row.path: "VALUE" for row in options if row.path.rpartition(".")[2] == name}
    formulas: dict[str, str] = {}
    for row in sorted(options, key=lambda row: row.path.count(".")):
        if name in row.synonyms:
            formulas.setdefault(row.path, row.synonyms[name])
    return named or formulas
