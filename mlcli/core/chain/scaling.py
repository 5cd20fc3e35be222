"""Scaling of eigenvectors to coordinates, and to the axes that place new points."""

from dataclasses import replace

import numpy as np

from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.products import Products
from mlcli.core.chain.input import ChainInput
from mlcli.core.eigen.eigensolve import NOTABLE
from mlcli.core.eigen.solved import Kernel
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.model import Model
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Affine, Projector


def solve_spectrum(chain: ChainInput, kernel: Kernel, limit: int, notable: float = NOTABLE) -> Spectrum:
    """Return the spectrum of a kernel with the divisor of its eigenvalues."""
    spectrum = chain.stages.eigensolve(kernel, limit, chain.compute, notable=notable)
    return replace(spectrum, divisor=chain.stages.coordinates.over(len(spectrum.vectors)))


def ratio(above: Array, below: Array) -> Array:
    """Return the quotient of two (p,) arrays, zero where `below` is zero."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def stretches(chain: ChainInput, spectrum: Spectrum) -> tuple[Array, Array]:
    """Return the factor from V √λ to coordinates for each axis (p), and its inverse; both zero without extent."""
    if chain.stages.coordinates.scale == "roots":
        return np.ones(len(spectrum.axis_eigenvalues)), np.ones(len(spectrum.axis_eigenvalues))
    roots, sizes = np.sqrt(spectrum.axis_eigenvalues), chain.stages.coordinates.sizes(spectrum)
    return ratio(sizes, roots), ratio(roots, sizes)


def scale_coordinates(chain: ChainInput, spectrum: Spectrum, plain: Array) -> Array:
    """Scale coordinates of unit variance (n x p), one eigenvector each, to the size of the option."""
    if chain.stages.coordinates.scale == "variance":
        return plain
    return plain * (chain.stages.coordinates.sizes(spectrum) / np.sqrt(len(plain)))


def build_fit(chain: ChainInput, spectrum: Spectrum, similarity: Similarity, *, decoder: Affine | None = None,
              kept: Indices | None = None, rows: RowsOf | None = None, products: Products | None = None) -> Model:
    """Return the fit of a kernel whose rows the similarity gives: V √λ with axes V / √λ, or V with axes V / λ.

    `kept` is an (m,) array of the rows embedded, `rows` a function for kernel rows. `products` are the results that a
    run may keep, by default the similarity's.
    """
    stretch, shrink = stretches(chain, spectrum)
    axes, embedding = spectrum.inverse_roots() * stretch, spectrum.vectors * chain.stages.coordinates.sizes(spectrum)
    decoder = decoder and replace(decoder, directions=decoder.directions * shrink)
    products = similarity.products(spectrum.centering) if products is None else products
    return Model(embedding=embedding, spectrum=spectrum, kept=kept, rows=rows, products=products,
                 projector=Projector(similarity, spectrum.centering, axes, decoder))
