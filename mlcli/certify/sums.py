"""The checks of a chain whose kernel is a sum over tables: besides its eigenproblem, each table's kernel and weight."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlcli.base.machine.rates import rates
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, later, ratio
from mlcli.base.values.scaling import Unit
from mlcli.certify.chains import eigenpair_checks
from mlcli.certify.subject import Subject, max_abs
from mlcli.certify.tables import AppliedKernels, Kernels, group_checks, weights_error
from mlcli.core.chain.stages import Stages
from mlcli.core.check.kernels import of_table
from mlcli.core.check.metrics import squared

SHARE = 30.0  # of `WORK` that the norms of all kernels may take: half a second
SPECTRUM = 12.0  # n³ operations of all eigenvalues and of the products
OWN = 1e-9  # relative difference of a rate, a deviation or a mean from the table's


def sum_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of coordinates of a sum of kernels, and of the functions, norms and weights of its tables."""
    yield from eigenpair_checks(subject, chain)
    yield _tables(subject, chain.kernel)
    seconds = SPECTRUM * len(subject.model.embedding)**3 * len(subject.similarity.parts.function.weights)
    if subject.plan.allows(SHARE, seconds * rates().decomposed):
        yield from _weights(subject, chain)
    else:
        yield later("weights")


def _tables(subject: Subject, kernel: Any) -> Check:
    """Check that the model has each table's columns, means, scales and function as asked for."""
    data, function = subject.data, subject.similarity.parts.function
    groups, wrong = kernel.groups_of(data.columns), list[str]()
    owners = np.full(len(data.columns), -1)
    for number, (group, table) in enumerate(zip(groups, kernel.tables, strict=True)):
        places = sorted(group.columns)
        owners[places] = number
        own, held = function.functions[number], data.values[:, places]
        sizes = np.abs(held).max(axis=0, initial=0.0) + np.finfo(float).tiny
        scaled = held / sizes
        standard = table.scale == "standard"
        moved = standard or bool(function.means[places].any())
        means = scaled.mean(axis=0) if moved else np.zeros(len(places))
        deviations = scaled.std(axis=0)
        power = float(function.scales[places[0]])  # a power of two is a unit
        common = np.full(len(places), power if not standard and np.frexp(power)[0] == 0.5 else np.nan)
        expected = np.where(deviations > 16 * EPS, deviations * sizes, 1.0) if standard else common
        if not (np.allclose(function.scales[places], expected, rtol=OWN, atol=0)
                and max_abs(function.means[places] / sizes - means) <= OWN):
            wrong.append(f"scales of {group.name}")
        unit = table.length_unit(data.unit * Unit(int(np.frexp(power)[1]) - 1))
        asked = {name: (unit**table.kernel.exponent).number(value) if name in ("rate", "gamma") and value is not None
                 else value for name, value in table.kernel}
        if any(value is not None and getattr(own, name, None) != value for name, value in asked.items()):
            wrong.append(f"kernel of {group.name}")
        if asked.get("rate", 0.0) is None and not _is_median(table, own.rate, (held - function.means[places])
                                                             / function.scales[places], subject):
            wrong.append(f"rate of {group.name}")
        if table.metric.name != getattr(getattr(own, "metric", table.metric), "name", ""):
            wrong.append(f"metric of {group.name}")
    wrong += [] if np.array_equal(owners, function.owners) else ["columns"]
    return count("tables", len(wrong), f"tables that are not as asked in the model: {', '.join(wrong) or 'none'}")


def _is_median(table: Any, rate: float, rows: Array, subject: Subject) -> bool:
    """Whether half of the squared distances of rows (n x c), or of a sample, are below one over a rate."""
    chosen = subject.plan.sample(2.0, 1e-6 * len(rows), len(rows), least=60)
    some = rows[chosen]
    squares = squared(some, some) if table.metric.plain else table.metric.fitted(rows).in_bulk(
        *[table.metric.fitted(rows).represent(some)] * 2) ** 2
    squares = squares[np.triu_indices(len(some), 1)]
    squares = squares[squares > 0]
    if not len(squares):
        return rate == 1.0
    if len(chosen) == len(rows):
        return bool(abs(np.median(squares) * rate - 1) <= 1e-6)
    return bool(0.3 <= np.mean(squares * rate < 1) <= 0.7)


def _weights(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Check weights, norms and what each table says about the axes, by the tables' kernels, computed again."""
    kernel: Any = chain.kernel
    similarity, groups = subject.similarity, subject.model.groups
    function, size = similarity.parts.function, max(subject.size, 1)
    points = subject.data.values
    every, blocks = np.arange(len(points)), []
    for number in range(len(function.weights)):
        matrix = of_table(function, number, points).rows(every) / size
        if chain.centering == "double":
            matrix = matrix - matrix.mean(axis=0)
            matrix = matrix - matrix.mean(axis=1, keepdims=True)
        blocks.append((matrix + matrix.T) / 2)
    kernels = Kernels(blocks, square=True)
    norms, products = kernels.norms(kernel.normalization), kernels.products
    asked = np.array([table.weight for table in kernel.tables])
    active, rounding = asked > 0, EPS * 64 * max(size, 10)
    stated = function.weights * norms
    if kernel.weights == "rv":
        wrong, how = weights_error(products, stated, active, averaged=True)
    else:
        wrong, how = max_abs(stated - asked), "the weights are those of the tables"
    yield ratio("weights", wrong, rounding * len(active) * (1 + max_abs(asked)), how)
    if groups is not None and len(groups.weights) == len(active):
        roots = subject.rescale_axes("roots").embedding
        values = subject.values / size
        yield ratio("stated weights", max_abs(groups.weights - stated), rounding * len(active) * (1 + max_abs(asked)),
                    "the weights that the files state are those of the kernel")
        yield from group_checks(AppliedKernels.of(kernels, norms, roots), products / np.outer(norms, norms),
                                values=values, groups=groups, rounding=rounding)
