"""Similarities: how new points relate to the training points, and the spaces whose distances those stand for."""

from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.columns import Columns, Completed, Monomials, Smoother
from mlcli.stages.similarities.given_graph import EdgeAffinities, GivenGraph
from mlcli.stages.similarities.kernels import Distances, Geodesics, GivenDistances, KernelValues
from mlcli.stages.similarities.weights import Affinities, Barycenters, GivenBarycenters

__all__ = ["Affinities", "Barycenters", "Columns", "Completed", "Distances", "EdgeAffinities", "Geodesics",
           "GivenBarycenters", "GivenDistances", "GivenGraph", "KernelValues", "Monomials", "Similarity", "Smoother"]
