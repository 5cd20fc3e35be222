"""Similarities of new points to training points, spaces of distances, and the projectors that use them."""

from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.columns import Columns, Completed, Monomials, Smoother
from mlcli.stages.similarities.decoders import Affine, Decoder, linear_decoder
from mlcli.stages.similarities.explained import Explained, complete_points
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
           "complete_points",
           "linear_decoder",
           "require_projector",
]
