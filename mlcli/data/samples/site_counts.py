"""A generated survey: counts of species at sites along a long gradient and a short one, reproducible by seed."""

import numpy as np

from mlcli.data.table.table import Table

LONG, SHORT = 8.0, 2.0  # lengths of the gradients, in widths of a species
BEYOND = 1.0  # widths by which optima may lie outside of the gradients
TALLEST = 30.0  # mean count of the most common species at its optimum
BLOCK = 256  # sites drawn from one stream


def site_counts(rows: int, species: int, seed: int) -> Table:
    """Return Poisson counts (rows x species), with the places `t` and `h` of each site on the gradients as labels.

    The mean of a species is a Gaussian of unit width around its optimum, as in Gauch and Whittaker's
    coenoclines (1972). Sites are uniform on the gradients. The first m rows of n are the sample of m rows.
    """
    lengths = np.array([LONG, SHORT])
    optima = np.random.default_rng([seed, 1]).random((species, 2)) * (lengths + 2 * BEYOND) - BEYOND
    heights = TALLEST * np.random.default_rng([seed, 2]).random(species) ** 2 + 1
    places = np.random.default_rng([seed, 0]).random((rows, 2)) * lengths
    values = np.empty((rows, species))
    for number, start in enumerate(range(0, rows, BLOCK)):
        apart = places[start:start + BLOCK, None, :] - optima
        means = heights * np.exp(-np.einsum("ijk,ijk->ij", apart, apart) / 2)
        values[start:start + BLOCK] = np.random.default_rng([seed, 3, number]).poisson(means)
    return Table(values=values, columns=tuple(f"species{number}" for number in range(1, species + 1)),
                 ids=tuple(f"site{number}" for number in range(1, rows + 1)),
                 labels={name: tuple(f"{place:.17g}" for place in places[:, axis].tolist())
                         for axis, name in enumerate("th")})
