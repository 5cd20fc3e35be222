"""From eigenvectors to coordinates, and to the axes that give them to new points."""

from dataclasses import replace

import numpy as np

from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.products import Products
from mlcli.stages.chain.setting import Fitted, Setting
from mlcli.stages.eigen.eigensolve import NOTABLE
from mlcli.stages.eigen.solved import Kernel
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.similarities import Affine, Projector, Similarity


def solved(chain: Setting, kernel: Kernel, limit: int, notable: float = NOTABLE) -> Spectrum:
    """The spectrum of a kernel, its eigenvalues over the divisor."""
    spectrum = chain.eigensolve(kernel, limit, chain.compute, notable=notable)
    return replace(spectrum, divisor=chain.coordinates.over(len(spectrum.vectors)))


def ratio(above: Array, below: Array) -> Array:
    """A quotient, zero where it would be one by zero."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def stretches(chain: Setting, spectrum: Spectrum) -> tuple[Array, Array]:
    """Coordinates over V √λ for each axis (p), and the inverse; both zero for an axis without extent."""
    if chain.coordinates.scale == "roots":
        return np.ones(len(spectrum.kept)), np.ones(len(spectrum.kept))
    roots, sizes = np.sqrt(spectrum.kept), chain.coordinates.sizes(spectrum)
    return ratio(sizes, roots), ratio(roots, sizes)


def scaled(chain: Setting, spectrum: Spectrum, plain: Array) -> Array:
    """Coordinates of one eigenvector each, given with unit variance, at the size that is asked for."""
    if chain.coordinates.scale == "variance":
        return plain
    return plain * (chain.coordinates.sizes(spectrum) / np.sqrt(len(plain)))


def fitted_by(chain: Setting, spectrum: Spectrum, similarity: Similarity, *, decoder: Affine | None = None,
              kept: Indices | None = None, rows: RowsOf | None = None, products: Products | None = None) -> Fitted:
    """Coordinates of a kernel whose rows the similarity gives: V √λ with axes V / √λ, or V with axes V / λ.

    What a run may keep is what the similarity makes, where it is not given.
    """
    stretch, shrink = stretches(chain, spectrum)
    axes, embedding = spectrum.inverse_roots() * stretch, spectrum.vectors * chain.coordinates.sizes(spectrum)
    decoder = decoder and replace(decoder, directions=decoder.directions * shrink)
    products = similarity.products(spectrum.centering) if products is None else products
    return Fitted(embedding=embedding, spectrum=spectrum, kept=kept, rows=rows, products=products,
                  projector=Projector(similarity, spectrum.centering, axes, decoder))
