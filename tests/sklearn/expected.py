"""What `check_estimator` finds that cannot hold, by estimator, with the reason; and the parameters it is run with."""

from typing import Any

PLACED_AGAIN = ("check_transformer_general", "check_transformer_data_not_an_array")  # fit_transform is transform
ORDER = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")


def failing(reason: str, *checks: str) -> dict[str, str]:
    """Checks that fail for one reason."""
    return dict.fromkeys(checks, reason)


EXPECTED: dict[str, dict[str, str]] = {
    **{name: failing("the data has rows of zeros, which have no profile", "check_estimators_dtypes",
                     "check_estimator_sparse_tag", "check_estimator_sparse_array", "check_estimator_sparse_matrix")
       for name in ("CA", "IB")},
    "CCA": failing("the check takes any class of this name for scikit-learn's, whose transform takes y as well",
                   *PLACED_AGAIN),
    **{name: failing("coordinates of the fit follow from both views, those of new rows from the first", *PLACED_AGAIN)
       for name in ("IBFA", "MVGPLVM")},
    "PHATE": failing("a row of the fit has its place in the layout, a new one that of its neighbors in the walk",
                     *PLACED_AGAIN),
    "GPLVM": failing("a row of the fit has the coordinates of all rows together, a new one those of its own minimum",
                     *PLACED_AGAIN),
    "GPDM": {**failing("rows of the fit are smoothed in time order, new ones are a sequence of their own",
                       *PLACED_AGAIN), **failing("rows are in time order", *ORDER)},
    "GPSSM": {**failing("rows of the fit are smoothed in time order, new ones are a sequence of their own",
                        *PLACED_AGAIN), **failing("rows are in time order", *ORDER)},
    "LGSSM": failing("rows are in time order", *ORDER),
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "GPLVM": {"minimize_limit": 12}, "GPDM": {"minimize_limit": 12},
    "GPSSM": {"minimize_limit": 12, "inducing": 5}, "MVGPLVM": {"minimize_limit": 12, "inducing": 5},
    "LGSSM": {"iterate_limit": 100},
    "RDA": {"components": 1}, "DBRDA": {"components": 1},  # the checks' y is one column, which constrains one axis
}
SLOW = {"GPDM", "GPSSM", "GPLVM", "MVGPLVM", "LGSSM", "UMAP", "TSNE", "NMDS"}
