# Made by `python docs/generate.py` from the declarations of the methods.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from mlcli.sklearn.estimator import Estimator

NO_ESTIMATOR: tuple[str, ...]

def method_of(name: str) -> str | None: ...

class PCA(Estimator):
    def __init__(self, *, route: Literal['auto', 'covariance', 'dual', 'svd', 'power'] = 'auto',
                 divisor: Literal['n', 'n-1'] = 'n', loadings: Literal['scaled', 'unit'] = 'scaled',
                 correlations: Literal['pearson', 'polychoric'] = 'pearson',
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class PPCA(Estimator):
    def __init__(self, *, solver: Literal['auto', 'closed', 'em'] = 'auto', rotation: str | Mapping[str, Any] = 'none',
                 rotation_normalize: bool | None = None, rotation_power: float | None = None,
                 iterate_limit: int = 10000, iterate_tolerance: float = 1e-09,
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 missing: Literal['error', 'drop', 'mean', 'model'] = 'error', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class FA(Estimator):
    def __init__(self, *, components: Literal['auto'] | int | None = None, rotation: str | Mapping[str, Any] = 'none',
                 rotation_normalize: bool | None = None, rotation_power: float | None = None,
                 scores: Literal['regression', 'bartlett'] = 'regression', noise: Literal['each', 'equal'] = 'each',
                 estimator: Literal['ml', 'minres'] = 'ml', correlations: Literal['pearson', 'polychoric'] = 'pearson',
                 lower: float = 0.005, gaps: Literal['likelihood', 'pairwise'] = 'likelihood',
                 iterate_limit: int = 10000, iterate_tolerance: float = 1e-09,
                 missing: Literal['error', 'drop', 'mean', 'model'] = 'error', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class MDS(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 correction: Literal['none', 'lingoes', 'cailliez'] = 'none', landmarks: int | None = None,
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 kind: Literal['features', 'dissimilarities'] = 'features', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class SMACOF(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 weights: float = 0.0, starts: int = 1, iterate_limit: int = 10000, iterate_tolerance: float = 1e-06,
                 components: Literal['auto'] | int | None = None,
                 kind: Literal['features', 'dissimilarities'] = 'features', start: ArrayLike | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class Sammon(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 starts: int = 1, iterate_limit: int = 10000, iterate_tolerance: float = 1e-06,
                 components: Literal['auto'] | int | None = None,
                 kind: Literal['features', 'dissimilarities'] = 'features', start: ArrayLike | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class NMDS(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 ties: Literal['primary', 'secondary'] = 'primary', starts: int = 20, minimize_limit: int = 1000,
                 minimize_tolerance: float = 1e-05, components: Literal['auto'] | int | None = None,
                 kind: Literal['features', 'dissimilarities'] = 'features', start: ArrayLike | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class KernelPCA(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 kernel: str | Mapping[str, Any] = 'gaussian', kernel_degree: int | None = None,
                 kernel_gamma: float | None = None, kernel_coef0: float | None = None,
                 kernel_rate: float | None = None, landmarks: int | None = None,
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 decoder: str | Mapping[str, Any] = 'none', decoder_neighbors: int | None = None,
                 decoder_ridge: float | None = None, decoder_alpha: float | None = None,
                 decoder_rate: float | None = None, decoder_limit: int | None = None,
                 decoder_tolerance: float | None = None, kind: Literal['features', 'kernel'] = 'features',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class Isomap(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact',
                 graph: Literal['union', 'mutual'] = 'union',
                 paths: Literal['auto', 'dijkstra', 'floyd', 'elimination'] = 'auto',
                 paths_store: Literal['auto', 'memory', 'disk', 'streamed'] = 'auto',
                 paths_precision: Literal['auto', 'float32', 'float64'] = 'auto', landmarks: int | None = None,
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 decoder: str | Mapping[str, Any] = 'none', decoder_neighbors: int | None = None,
                 decoder_ridge: float | None = None, decoder_alpha: float | None = None,
                 decoder_rate: float | None = None, kind: Literal['features', 'dissimilarities', 'graph'] = 'features',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class LLE(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact', ridge: float = 0.001,
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 decoder: str | Mapping[str, Any] = 'none', decoder_neighbors: int | None = None,
                 decoder_ridge: float | None = None, decoder_alpha: float | None = None,
                 decoder_rate: float | None = None, kind: Literal['features', 'dissimilarities'] = 'features',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class MLLE(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact', dimension: int | None = None,
                 ridge: float = 0.001, components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 kind: Literal['features', 'dissimilarities'] = 'features', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class LTSA(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact', dimension: int | None = None,
                 ridge: float = 0.001, components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 kind: Literal['features', 'dissimilarities'] = 'features', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class HLLE(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact', dimension: int | None = None,
                 ridge: float = 0.001, components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 kind: Literal['features', 'dissimilarities'] = 'features', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class NPE(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact', ridge: float = 0.001,
                 components: Literal['auto'] | int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class LPP(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact',
                 graph: Literal['union', 'mutual'] = 'union', weights: str | Mapping[str, Any] = 'binary',
                 weights_rate: float | None = None, weights_nearest: int | None = None,
                 components: Literal['auto'] | int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class LLTSA(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact', dimension: int | None = None,
                 ridge: float = 0.001, components: Literal['auto'] | int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class Laplacian(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact',
                 graph: Literal['union', 'mutual'] = 'union', weights: str | Mapping[str, Any] = 'binary',
                 weights_rate: float | None = None, weights_nearest: int | None = None, normalized: bool = True,
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 decoder: str | Mapping[str, Any] = 'none', decoder_neighbors: int | None = None,
                 decoder_ridge: float | None = None, decoder_alpha: float | None = None,
                 decoder_rate: float | None = None,
                 kind: Literal['features', 'dissimilarities', 'graph', 'affinities'] = 'features', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class TSNE(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 perplexity: float | Sequence[float] | None = None, search: Literal['exact', 'approximate'] = 'exact',
                 start: Literal['pca', 'laplacian', 'random'] | ArrayLike | None = None, dof: float = 1.0,
                 descent_early_exaggeration: float = 12.0, descent_early_steps: int = 250,
                 descent_exaggeration: float = 1.0, descent_steps: int = 500, descent_rate: float | None = None,
                 descent_early_momentum: float = 0.8, descent_momentum: float = 0.8, components: int | None = None,
                 kind: Literal['features', 'dissimilarities', 'graph', 'affinities'] = 'features', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class Diffusion(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 bandwidth: str | Mapping[str, Any] = 'fixed', bandwidth_epsilon: float | None = None,
                 bandwidth_nearest: int | None = None, alpha: float = 1.0, nearest: int | None = None,
                 search: Literal['exact', 'approximate'] = 'exact', time: float = 1.0,
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 decoder: str | Mapping[str, Any] = 'none', decoder_neighbors: int | None = None,
                 decoder_ridge: float | None = None, decoder_alpha: float | None = None,
                 decoder_rate: float | None = None, kind: Literal['features', 'dissimilarities'] = 'features',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class PHATE(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 nearest: int = 5, decay: float = 40.0, search: Literal['exact', 'approximate'] = 'exact',
                 threshold: float = 0.0001, time: int | None = None, gamma: float = 1.0, landmarks: int | None = None,
                 starts: int = 1, iterate_limit: int = 10000, iterate_tolerance: float = 0.0001,
                 components: Literal['auto'] | int | None = None,
                 kind: Literal['features', 'dissimilarities', 'affinities'] = 'features', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class UMAP(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, neighbors_search: Literal['exact', 'approximate'] = 'exact',
                 local_connectivity: float = 1.0, mix_ratio: float = 1.0, target_weight: float | None = None,
                 density: Mapping[str, Any] | None = None, density_weight: float | None = None,
                 density_share: float | None = None, density_shift: float | None = None, min_dist: float = 0.1,
                 spread: float = 1.0, start: Literal['spectral', 'pca', 'random'] | ArrayLike = 'spectral',
                 epochs: int | None = None, learning_rate: float = 1.0, negative_samples: int = 5,
                 repulsion: float = 1.0, components: int | None = None,
                 kind: Literal['features', 'dissimilarities', 'graph', 'affinities'] = 'features', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class SDE(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 neighbors: int | None = None, radius: float | None = None,
                 neighbors_pieces: Literal['error', 'largest', 'connect'] = 'connect',
                 neighbors_search: Literal['exact', 'approximate'] = 'exact',
                 graph: Literal['union', 'mutual'] = 'union', constraints: Literal['equal', 'at_most'] = 'equal',
                 common_neighbors: bool = False, basis: int | None = None, softness: float = 0.03,
                 tolerance: float = 0.0001, iterations: int = 100, accept_uncertified: bool = False,
                 ridge: float = 0.001, components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 decoder: str | Mapping[str, Any] = 'none', decoder_neighbors: int | None = None,
                 decoder_ridge: float | None = None, decoder_alpha: float | None = None,
                 decoder_rate: float | None = None, kind: Literal['features', 'dissimilarities', 'graph'] = 'features',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class Chain(Estimator):
    def __init__(self, *, metric: str | Mapping[str, Any] = 'euclidean', metric_p: float | None = None,
                 graph: Mapping[str, Any] | None = None, neighbors: int | None = None, radius: float | None = None,
                 graph_neighbors_pieces: Literal['error', 'largest', 'connect'] | None = None,
                 graph_neighbors_search: Literal['exact', 'approximate'] | None = None,
                 graph_rule: Literal['union', 'mutual'] | None = None,
                 paths: Literal['auto', 'dijkstra', 'floyd', 'elimination'] | None = None,
                 paths_store: Literal['auto', 'memory', 'disk', 'streamed'] | None = None,
                 paths_precision: Literal['auto', 'float32', 'float64'] | None = None,
                 kernel: str | Mapping[str, Any] = 'gower',
                 kernel_route: Literal['auto', 'covariance', 'dual', 'svd', 'power'] | None = None,
                 kernel_degree: int | None = None, kernel_gamma: float | None = None,
                 kernel_coef0: float | None = None, kernel_rate: float | None = None,
                 kernel_tables: Mapping[str, Any] | None = None,
                 kernel_normalization: Literal['eigenvalue', 'frobenius', 'none'] | None = None,
                 kernel_weights: Literal['given', 'rv'] | None = None, kernel_ridge: float | None = None,
                 kernel_dimension: int | None = None, kernel_constraints: Literal['equal', 'at_most'] | None = None,
                 kernel_common_neighbors: bool | None = None, kernel_basis: int | None = None,
                 kernel_softness: float | None = None, kernel_tolerance: float | None = None,
                 kernel_iterations: int | None = None, kernel_accept_uncertified: bool | None = None,
                 kernel_weights_rate: float | None = None, kernel_weights_nearest: int | None = None,
                 kernel_normalized: bool | None = None, kernel_bandwidth: str | Mapping[str, Any] | None = None,
                 kernel_bandwidth_epsilon: float | None = None, kernel_bandwidth_nearest: int | None = None,
                 kernel_alpha: float | None = None, kernel_nearest: int | None = None,
                 kernel_search: Literal['exact', 'approximate'] | None = None, kernel_time: float | None = None,
                 correction: Literal['none', 'lingoes', 'cailliez'] = 'none', landmarks: int | None = None,
                 centering: Literal['double', 'columns', 'none'] = 'double',
                 components: Literal['all', 'auto'] | int | float | None = None,
                 eigensolve_solver: Literal['auto', 'dense', 'krylov', 'filter'] = 'auto',
                 eigensolve_tolerance: float | None = None, eigensolve_report: int | None = None,
                 coordinates_scale: Literal['roots', 'unit', 'variance'] = 'roots',
                 coordinates_divisor: Literal['none', 'n', 'n-1'] = 'none', decoder: str | Mapping[str, Any] = 'none',
                 decoder_neighbors: int | None = None, decoder_ridge: float | None = None,
                 decoder_alpha: float | None = None, decoder_rate: float | None = None,
                 decoder_limit: int | None = None, decoder_tolerance: float | None = None,
                 kind: Literal['features', 'dissimilarities', 'kernel', 'graph', 'affinities'] = 'features',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class LDA(Estimator):
    def __init__(self, *, priors: Literal['proportions', 'equal'] | float | Sequence[float] = 'proportions',
                 shrinkage: Literal['none', 'ledoit_wolf'] | float = 'none', components: int | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class RDA(Estimator):
    def __init__(self, *, condition: Sequence[str] = (), scores: Literal['wa', 'lc'] = 'wa', permutations: int = 999,
                 components: int | None = None, seed: int = 0, threads: Literal['auto'] | int = 'auto',
                 portable: bool = False, memory_limit: int | str = 'auto') -> None: ...

class DBRDA(Estimator):
    def __init__(self, *, condition: Sequence[str] = (), scores: Literal['wa', 'lc'] = 'wa', permutations: int = 999,
                 components: int | None = None, metric: str | Mapping[str, Any] = 'euclidean',
                 metric_p: float | None = None, kind: Literal['features', 'dissimilarities'] = 'features',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class CA(Estimator):
    def __init__(self, *, loadings: Literal['principal', 'standard'] = 'principal', components: int | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class MCA(Estimator):
    def __init__(self, *, loadings: Literal['principal', 'standard'] = 'principal', components: int | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class MFA(Estimator):
    def __init__(self, *, categories: Sequence[str] = (), components: int | None = None, iterate_limit: int = 10000,
                 iterate_tolerance: float = 1e-09, groups: Sequence[str] = (), supplementary: Sequence[str] = (),
                 center: Sequence[str] = (), missing: Literal['error', 'drop', 'mean', 'model'] = 'error',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class FAMD(Estimator):
    def __init__(self, *, categories: Sequence[str] = (), components: int | None = None, iterate_limit: int = 10000,
                 iterate_tolerance: float = 1e-09, missing: Literal['error', 'drop', 'mean', 'model'] = 'error',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class STATIS(Estimator):
    def __init__(self, *, categories: Sequence[str] = (), components: int | None = None, iterate_limit: int = 10000,
                 iterate_tolerance: float = 1e-09, groups: Sequence[str] = (), supplementary: Sequence[str] = (),
                 center: Sequence[str] = (), normalization: Literal['frobenius', 'eigenvalue'] = 'frobenius',
                 kind: Literal['features', 'dissimilarities'] = 'features',
                 missing: Literal['error', 'drop', 'mean', 'model'] = 'error', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class CCA(Estimator):
    def __init__(self, *, components: int | None = None, seed: int = 0, threads: Literal['auto'] | int = 'auto',
                 portable: bool = False, memory_limit: int | str = 'auto') -> None: ...

class IBFA(Estimator):
    def __init__(self, *, given: Literal['both', 'first'] = 'both', components: int | None = None,
                 minimize_limit: int = 1000, minimize_tolerance: float = 1e-09, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class GIB(Estimator):
    def __init__(self, *, beta: float | None = None, components: int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class IB(Estimator):
    def __init__(self, *, beta: float | None = None, annealing_steps: int = 30, annealing_limit: int = 3000,
                 annealing_tolerance: float = 1e-09, components: int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class SFA(Estimator):
    def __init__(self, *, degree: Literal[1, 2] = 1, components: int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class LGSSM(Estimator):
    def __init__(self, *, dynamics: str | Mapping[str, Any] = 'full',
                 dynamics_coefficients: Sequence[float] | None = None,
                 noise: Literal['each', 'equal', 'vanishing'] = 'each', floor: float = 0.0001,
                 iterate_limit: int = 10000, iterate_tolerance: float = 1e-09, components: int | None = None,
                 missing: Literal['error', 'drop', 'mean', 'model'] = 'error', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class ICA(Estimator):
    def __init__(self, *, algorithm: Literal['symmetric', 'deflation'] = 'symmetric',
                 contrast: Literal['logcosh', 'exp', 'cube'] = 'logcosh', iterate_limit: int = 10000,
                 iterate_tolerance: float = 1e-09, components: int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class NMF(Estimator):
    def __init__(self, *, objective: Literal['frobenius', 'kullback_leibler'] = 'frobenius',
                 start: Literal['nndsvda', 'random'] = 'nndsvda', sweeps: int = 3, iterate_limit: int = 10000,
                 iterate_tolerance: float = 1e-05, components: int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class RandomProjection(Estimator):
    def __init__(self, *, kind: Literal['gaussian', 'sparse', 'orthogonal'] = 'gaussian',
                 density: Literal['auto'] | float = 'auto', components: int | None = None, seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class Autoencoder(Estimator):
    def __init__(self, *, layers: Sequence[int] = (),
                 activation: Literal['tanh', 'relu', 'softplus', 'logistic'] = 'softplus',
                 training: Literal['auto', 'always'] = 'auto', tied: bool = False,
                 corruption: str | Mapping[str, Any] = 'none', corruption_deviation: float | None = None,
                 corruption_share: float | None = None, sparsity: str | Mapping[str, Any] = 'none',
                 sparsity_weight: float | None = None, sparsity_target: float | None = None, contraction: float = 0.0,
                 dropout: float = 0.0, learning_epochs: int = 50, learning_batch: int = 128,
                 learning_rate: float = 0.001, learning_schedule: Literal['cosine', 'constant'] = 'cosine',
                 learning_decay: float = 0.0, learning_validation: float = 0.1, learning_patience: int = 10,
                 learning_precision: Literal['float32', 'float64'] = 'float32', components: int | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class VAE(Estimator):
    def __init__(self, *, layers: Sequence[int] = (),
                 activation: Literal['tanh', 'relu', 'softplus', 'logistic'] = 'softplus',
                 training: Literal['auto', 'always'] = 'auto', likelihood: str | Mapping[str, Any] = 'gaussian',
                 likelihood_noise: float | None = None, beta: float = 1.0,
                 family: Literal['mean-field', 'full', 'free'] = 'mean-field', importance: int = 50,
                 learning_epochs: int = 50, learning_batch: int = 128, learning_rate: float = 0.001,
                 learning_schedule: Literal['cosine', 'constant'] = 'cosine', learning_decay: float = 0.0,
                 learning_validation: float = 0.1, learning_patience: int = 10,
                 learning_precision: Literal['float32', 'float64'] = 'float32', components: int | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class VIB(Estimator):
    def __init__(self, *, layers: Sequence[int] = (),
                 activation: Literal['tanh', 'relu', 'softplus', 'logistic'] = 'softplus',
                 training: Literal['auto', 'always'] = 'auto', beta: float | None = None, curve: int = 1,
                 draws: int = 32, learning_epochs: int = 50, learning_batch: int = 128, learning_rate: float = 0.001,
                 learning_schedule: Literal['cosine', 'constant'] = 'cosine', learning_decay: float = 0.0,
                 learning_validation: float = 0.1, learning_patience: int = 10,
                 learning_precision: Literal['float32', 'float64'] = 'float32', components: int | None = None,
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class GPLVM(Estimator):
    def __init__(self, *, kernel: Sequence[Literal['rbf', 'rbf-ard', 'linear', 'bias']] = ('rbf', 'bias'),
                 inference: str | Mapping[str, Any] = 'map',
                 inference_prior: Literal['gaussian', 'none'] | None = None, inference_inducing: int | None = None,
                 constraint: str | Mapping[str, Any] = 'none', constraint_rate: float | None = None,
                 constraint_ridge: float | None = None, constraint_hidden: int | None = None,
                 start: str | Mapping[str, Any] = 'pca', start_neighbors: int | None = None,
                 start_restarts: int | None = None, minimize_limit: int = 5000, minimize_tolerance: float = 1e-05,
                 components: int | None = None, missing: Literal['error', 'drop', 'mean', 'model'] = 'error',
                 seed: int = 0, threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class MVGPLVM(Estimator):
    def __init__(self, *, inducing: int = 30, threshold: float = 0.01, start: str | Mapping[str, Any] = 'pca',
                 start_neighbors: int | None = None, start_restarts: int | None = None, minimize_limit: int = 5000,
                 minimize_tolerance: float = 1e-05, components: int | None = None,
                 missing: Literal['error', 'drop', 'mean', 'model'] = 'error', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class GPDM(Estimator):
    def __init__(self, *, kernel: Sequence[Literal['rbf', 'rbf-ard', 'linear', 'bias']] = ('rbf', 'bias'),
                 dynamics_kernel: Sequence[Literal['rbf', 'linear', 'bias']] = ('rbf', 'linear'),
                 dynamics_order: Literal[1, 2] = 1, dynamics_floor: float = 0.0001, dynamics_weight: float = 1.0,
                 start: str | Mapping[str, Any] = 'pca', start_neighbors: int | None = None,
                 start_restarts: int | None = None, minimize_limit: int = 5000, minimize_tolerance: float = 1e-05,
                 components: int | None = None, forecast: int = 0,
                 missing: Literal['error', 'drop', 'mean', 'model'] = 'error', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...

class GPSSM(Estimator):
    def __init__(self, *, kernel: Sequence[Literal['rbf', 'rbf-ard', 'linear', 'bias']] = ('rbf', 'bias'),
                 transition: Sequence[Literal['rbf', 'linear', 'bias']] = ('rbf', 'linear'), inducing: int = 20,
                 start: str | Mapping[str, Any] = 'pca', start_neighbors: int | None = None,
                 start_restarts: int | None = None, minimize_limit: int = 5000, minimize_tolerance: float = 1e-05,
                 components: int | None = None, forecast: int = 0,
                 missing: Literal['error', 'drop', 'mean', 'model'] = 'error', seed: int = 0,
                 threads: Literal['auto'] | int = 'auto', portable: bool = False,
                 memory_limit: int | str = 'auto') -> None: ...
