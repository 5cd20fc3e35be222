"""The spectrum of a kernel: signed eigenvalues, the kept axes, and what they are a share of."""

from dataclasses import dataclass, replace

import numpy as np

from mlcli.base.scaling import scaled
from mlcli.base.types import Array


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of a centered kernel and the unit eigenvectors of the kept axes."""

    values: Array  # m, descending, with their signs
    vectors: Array  # n x p, unit columns; a column of zeros is an axis without extent
    directions: Array | None  # d x p, where the kernel is F Fᵀ: unit eigenvectors of FᵀF
    trace: float  # sum of all eigenvalues, computed or not; NaN where unknown
    complete: bool  # whether `values` is the whole spectrum
    divisor: float = 1.0  # the values written are these over it (PCA's n or n - 1)

    @property
    def kept(self) -> Array:
        """The eigenvalues of the kept axes (p), zero for an axis without extent."""
        return np.where(np.any(self.vectors != 0, axis=0), self.values[: self.vectors.shape[1]], 0.0)

    @property
    def eigenvalues(self) -> Array:
        """The eigenvalues as they are written, over the divisor."""
        return self.values / self.divisor

    @property
    def proportions(self) -> Array:
        """Each eigenvalue over the trace; NaN where the trace is unknown or zero."""
        return self.values / self.trace if self.trace > 0 else np.full(len(self.values), np.nan)

    @property
    def negative_share(self) -> float:
        """The sizes of the negative eigenvalues over all sizes; NaN unless the spectrum is whole."""
        total = float(np.abs(self.values).sum())
        if not self.complete or total == 0:
            return float("nan")
        return float(-self.values[self.values < 0].sum()) / total

    def feature_directions(self) -> Array:
        """Unit directions in feature space (d x p); only where the kernel is F Fᵀ."""
        if self.directions is None:
            raise TypeError("this kernel has no feature directions")
        return self.directions

    def coordinates(self) -> Array:
        """The points on the kept axes, V √λ (n x p)."""
        return self.vectors * np.sqrt(self.kept)

    def inverse_roots(self) -> Array:
        """V / √λ (n x p), which maps centered kernel rows of new points to coordinates."""
        roots = np.sqrt(self.kept)
        return np.divide(self.vectors, roots, out=np.zeros_like(self.vectors), where=roots > 0)

    def rescaled(self, exponent: int) -> "Spectrum":
        """The spectrum of 2**exponent times the kernel."""
        return replace(self, values=scaled(self.values, exponent), trace=float(np.ldexp(self.trace, exponent)))
