"""The section `prepare.variable_genes`: the choice of highly variable genes."""

from typing import Any, Literal

from mlcli.base.values.extras import require
from mlcli.base.values.options import Options, option
from mlcli.data.options.formats import ANNDATA
from mlcli.data.options.input import Input
from mlcli.errors import ConfigError

WHERE = "prepare.variable_genes"
OF_FLAVOR = {"seurat": ("bins",), "seurat_v3": ("span",)}  # options that the other flavor has no use for
CUTOFFS = ("min_mean", "max_mean", "min_disp", "max_disp")


class VariableGenes(Options):
    """Highly variable genes, the columns to keep, as scanpy chooses them; null: all."""

    count: int | None = option(None, "Number of highly variable genes to keep, as scanpy chooses them (default: all "
                              "genes; with a flavor alone, those within the cutoffs of `seurat`).", ge=1)
    flavor: Literal["seurat", "seurat_v3"] = option(
        "seurat", "seurat: dispersions of log-normalized numbers (ln(1 + x), after the transforms), standardized in "
        "bins of the mean; seurat_v3: variances of raw counts (before the transforms), standardized by a local "
        "regression on the mean.")
    layer: str | None = option(None, f"The layer of an {ANNDATA} file that the genes are chosen by: counts for "
                               "`seurat_v3`, logarithms for `seurat` (default: the table itself).", min_length=1)
    span: float = option(0.3, "Share of the genes in each local regression of `seurat_v3`.", gt=0, le=1)
    bins: int = option(20, "Number of bins of the mean of `seurat`.", ge=1)
    min_mean: float = option(0.0125, "Means of `seurat` have to be over this, where no count is given.")
    max_mean: float = option(3.0, "Means of `seurat` have to be below this, where no count is given.")
    min_disp: float = option(0.5, "Standardized dispersions of `seurat` have to be over this, where no count is given.")
    max_disp: float | None = option(None, "Standardized dispersions of `seurat` have to be below this, where no count "
                                    "is given (default: no limit).")

    def require(self, prepare: Any, input: Input, *, viewed: bool) -> None:
        """Raise ConfigError for options without effect and for a table whose genes cannot be chosen; DependencyMissing.
        """
        if self.flavor == "seurat_v3" and self.count is None:
            raise ConfigError("PREPARE-OPTION", "seurat_v3 needs the number of genes to keep", where=WHERE,
                              hint="give {prepare.variable_genes.count}, for example "
                                   "{prepare.variable_genes.count=2000}")
        other = "seurat" if self.flavor == "seurat_v3" else "seurat_v3"
        self.refuse_unused(f"it is for the flavor {other}", *OF_FLAVOR[other], where=WHERE)
        if self.count is not None:
            self.refuse_unused("the number of genes is given", *CUTOFFS, where=WHERE)
        wrong = next((what for what, there in (
            (f"input.kind: {input.kind}", input.kind != "features"), ("a second view", viewed),
            ("prepare.top_variance, another choice of columns", prepare.top_variance is not None),
            ("missing: model, as genes are chosen by all cells", prepare.missing == "model")) if there), None)
        if wrong is not None:
            raise ConfigError("PREPARE-OPTION", f"variable_genes cannot be used with {wrong}", where=WHERE,
                              hint="leave one of the two out")
        if self.flavor == "seurat_v3":
            require("genes", "the flavor seurat_v3", f"{WHERE}.flavor")
