"""The statistics of all genes by which highly variable ones were chosen, and the choice."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

CHOSEN = "highly_variable"
TABLE = File("genes.csv", Columns(("gene", CHOSEN, "means"), texts=1, counts=(CHOSEN,)))
STANDARD = {"dispersions_norm": "standardized dispersion", "variances_norm": "standardized variance"}
SHOWN = 10  # genes named on the page


class GenesFinding(Finding["CsvColumns"]):
    """Means, dispersions or variances of all genes, standardized ones, and the choice, by scanpy's names."""

    name = "genes"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns | None":
        """Return the statistics; None where no genes were chosen."""
        import numpy as np

        from mlcli.findings.frame.finished_run import CsvColumns

        found = result.start.genes
        return None if found is None else CsvColumns(
            {"gene": found.genes, CHOSEN: found.chosen.astype(np.float64), **found.columns})

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the number of genes in words, and the first of them as a table."""
        import numpy as np

        from mlcli.report.drawing.html import section, sentence, table
        from mlcli.report.drawing.text import number

        options = run.config.prepare.variable_genes
        standard = next(name for name in STANDARD if name in value.columns)
        sizes, chosen = value.array(standard), value.array(CHOSEN) > 0
        places = np.flatnonzero(chosen)
        first = places[np.argsort(-sizes[places], kind="stable")[:SHOWN]].tolist()
        flavor, layer = ("seurat", None) if options is None else (options.flavor, options.layer)
        said = (f"{int(chosen.sum()):,} of {len(chosen):,} genes are highly variable by the flavor {flavor}"
                f"{'' if layer is None else f', by the layer {layer}'}; only these are analyzed. {TABLE.name} has "
                "the figures of all.")
        means, names = value.array("means"), value.texts("gene")
        rows = [(names[place], number(float(means[place])), number(float(sizes[place]))) for place in first]
        return [(Place.COLUMNS, section("Variable genes", sentence(said), table(
            ("gene", "mean", STANDARD[standard]), rows, (1, 2), said=True)))]
