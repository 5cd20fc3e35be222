"""Similarities: how new points relate to the training points, the spaces of their distances, and projectors by them.

New points go through `similarity.rows(new)`, the centering of the training rows, and one matrix of axes
(`projector.py`), whatever the method. A similarity also says how wide its rows are, whether rows can be placed one by
one, where its distances come from (`spaces.py`), how its kernel is computed again by independent formulas
(`witness.py`), and under which tag it is stored (`@stored`). Nothing asks a similarity for its class. A method that
cannot place new points gives `NoProjection` instead. A way from coordinates back to features that is not affine is a
decoder (`decoders.py`).
"""

from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.columns import Columns, Completed, Monomials, Smoother
from mlcli.stages.similarities.decoders import Affine, Decoder, linear_decoder
from mlcli.stages.similarities.explained import Explained, complete_factor
from mlcli.stages.similarities.given_graph import EdgeAffinities, GivenGraph
from mlcli.stages.similarities.kernels import Distances, Geodesics, GivenDistances, KernelValues
from mlcli.stages.similarities.networks import Encoder, NetworkDecoder
from mlcli.stages.similarities.projector import OF_COVARIANCE, NoProjection, Projector, require_projector
from mlcli.stages.similarities.weights import Affinities, Barycenters

__all__ = [
           "OF_COVARIANCE",
           "Affine",
           "Affinities",
           "Barycenters",
           "Columns",
           "Completed",
           "Decoder",
           "Distances",
           "EdgeAffinities",
           "Encoder",
           "Explained",
           "Geodesics",
           "GivenDistances",
           "GivenGraph",
           "KernelValues",
           "Monomials",
           "NetworkDecoder",
           "NoProjection",
           "Projector",
           "Similarity",
           "Smoother",
           "complete_factor",
           "linear_decoder",
           "require_projector",
]
