"""Similarities: how new points relate to the training points, and the spaces whose distances those stand for."""

from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.columns import Columns, Completed, Monomials, Smoother
from mlcli.stages.similarities.kernels import Distances, Geodesics, GivenDistances, KernelValues
from mlcli.stages.similarities.weights import Barycenters

__all__ = ["Barycenters", "Columns", "Completed", "Distances", "Geodesics", "GivenDistances", "KernelValues",
           "Monomials", "Similarity", "Smoother"]
