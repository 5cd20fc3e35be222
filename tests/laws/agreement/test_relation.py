"""Environment, species, partitions and dispersions against vegan's envfit, wascores, adonis2 and betadisper."""

import csv
from collections.abc import Sequence

import numpy as np
import pytest

from mlcli.base.types import Array, Indices
from mlcli.core.permutations import Permutations, permutations_of
from mlcli.core.relation.dispersion import dispersion
from mlcli.core.relation.permanova import By, Factor, inner_products, permanova, terms_of
from mlcli.core.relation.vectors import fit_centroids, fit_vector, weighted_averages
from tests.laws.agreement.tables import TABLES, read

CLOSE = 1e-10


def cells(name: str) -> dict[str, dict[str, str]]:
    """A table of vegan by the names of its rows and columns."""
    with (TABLES / "relation" / f"{name}.csv").open(newline="", encoding="utf-8") as stream:
        head, *rows = list(csv.reader(stream))
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def orders(name: str) -> Permutations:
    return permutations_of(read(f"relation/orders_{name}.csv", names=False, header=False))


def factor(texts: Sequence[str]) -> Factor:
    levels = sorted(set(texts))
    return Factor(np.array([levels.index(text) for text in texts]), tuple(levels))


def environment(name: str = "dune_env") -> dict[str, Array | Factor]:
    rows = list(cells(name).values())
    found: dict[str, Array | Factor] = {}
    for column in rows[0]:
        texts = [row[column] for row in rows]
        try:
            found[column] = np.array(list(map(float, texts)))
        except ValueError:
            found[column] = factor(texts)
    return found


def principal(counts: str, count: int) -> tuple[Array, Array]:
    """Principal coordinates of Bray-Curtis dissimilarities, and the inner products that they are of."""
    amounts = read(counts)
    totals = amounts.sum(axis=1)
    apart = np.abs(amounts[:, None] - amounts).sum(axis=2) / (totals[:, None] + totals)
    products = inner_products(apart**2)
    values, vectors = np.linalg.eigh(products)
    return vectors[:, ::-1][:, :count] * np.sqrt(values[::-1][:count]), products


def turned(found: Array, expected: Array) -> Array:
    """Scores with the signs of the expected axes, which are arbitrary."""
    return found * np.sign((found * expected).sum(axis=0))


@pytest.mark.parametrize(("name", "counts", "axes", "strata"), [
    ("dune_envfit", "metrics/dune.csv", 3, None), ("dune_envfit_use", "metrics/dune.csv", 3, "Use"),
    ("varespec_envfit", "vegan/varespec.csv", 2, None)])
def test_fits_are_those_of_envfit(name: str, counts: str, axes: int, strata: str | None) -> None:
    site = environment("varechem" if "varespec" in name else "dune_env")
    points, _ = principal(counts, axes)
    blocks = site[strata].codes if strata else None  # type: ignore[union-attr]
    permuted = orders("varespec" if "varespec" in name else "dune_use" if strata else "dune")
    require_envfit(name, points, site, permuted, blocks)


def require_envfit(name: str, points: Array, site: dict[str, Array | Factor], permuted: Permutations,
                   blocks: Indices | None = None, weights: Array | None = None) -> None:
    """The vectors, centroids, r² and p-values of vegan."""
    vectors = cells(f"{name}_vectors")
    expected = np.array([list(map(float, row.values()))[:-2] for row in vectors.values()])
    found = {key: fit_vector(points, site[key], permuted, blocks, weights) for key in vectors}  # type: ignore[arg-type]
    directions = np.array([fit.direction for fit in found.values()])
    np.testing.assert_allclose(turned(directions, expected), expected, atol=CLOSE)
    for key, row in vectors.items():
        assert found[key].r2 == pytest.approx(float(row["r2"]), abs=CLOSE)
        assert found[key].p_value == pytest.approx(float(row["p"]), abs=1e-15)
    factors = {key: value for key, value in site.items() if isinstance(value, Factor)}
    if not factors:
        return
    fits = {key: fit_centroids(points, value.codes, len(value.levels), permuted, blocks, weights)
            for key, value in factors.items()}
    means = np.vstack([fit.means for fit in fits.values()])
    centers = read(f"relation/{name}_centroids.csv")
    np.testing.assert_allclose(turned(means, centers), centers, atol=CLOSE)
    for key, row in cells(f"{name}_factors").items():
        assert fits[key].r2 == pytest.approx(float(row["r2"]), abs=CLOSE)
        assert fits[key].p_value == pytest.approx(float(row["p"]), abs=1e-15)


def test_sites_of_correspondence_analysis_have_weights() -> None:
    counts = read("metrics/dune.csv")
    shares = counts / counts.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    left, sizes, _ = np.linalg.svd((shares - np.outer(rows, columns)) / np.sqrt(np.outer(rows, columns)))
    points = left[:, :2] * sizes[:2] / np.sqrt(rows)[:, None]
    require_envfit("dune_ca_envfit", points, environment(), orders("dune"), weights=rows)


@pytest.mark.parametrize(("name", "formula", "by", "permuted"), [
    ("dune_terms", "Management * A1", "terms", "dune"), ("dune_margin", "A1 + Moisture + Management", "margin", "dune"),
    ("dune_none", "A1 + Moisture + Management", "none", "dune"), ("dune_use", "Management + A1", "terms", "dune_use"),
    ("dune_interaction", "A1:Management + Moisture", "terms", "dune"),
    ("varespec_terms", "~ Al + P + K", "terms", "varespec")])
def test_partitions_are_those_of_adonis2(name: str, formula: str, by: By, permuted: str) -> None:
    lichen = name.startswith("varespec")
    site = environment("varechem" if lichen else "dune_env")
    _, products = principal("vegan/varespec.csv" if lichen else "metrics/dune.csv", 1)
    strata = site["Use"].codes if permuted == "dune_use" else None  # type: ignore[union-attr]
    rows = permanova(lambda rows, columns: -2 * products[rows, columns], terms_of(formula), site, by, orders(permuted),
                     strata)
    expected = cells(name)
    assert [row.term for row in rows] == list(expected)
    for row, known in zip(rows, expected.values(), strict=True):
        assert row.freedom == int(known["Df"])
        assert (row.squares, row.share) == pytest.approx((float(known["SumOfSqs"]), float(known["R2"])), rel=CLOSE)
        if row.ratio is not None:
            assert row.ratio == pytest.approx(float(known["F"]), rel=CLOSE)
            assert row.p_value == pytest.approx(float(known["Pr(>F)"]), abs=1e-15)


@pytest.mark.parametrize(("name", "center", "counts"), [
    ("dune_centroid", "centroid", "metrics/dune.csv"), ("dune_median", "median", "metrics/dune.csv"),
    ("bci_centroid", "centroid", "metrics/bci.csv")])
def test_dispersions_are_those_of_betadisper(name: str, center: str, counts: str) -> None:
    bci = name.startswith("bci")
    groups = environment("bci_env" if bci else "dune_env")["Habitat" if bci else "Management"]
    assert isinstance(groups, Factor)
    _, products = principal(counts, 1)
    found = dispersion(products, groups.codes, len(groups.levels), center,  # type: ignore[arg-type]
                       orders("bci" if bci else "dune"))
    np.testing.assert_allclose(found.distances, read(f"relation/{name}_distances.csv")[:, 0], atol=CLOSE)
    np.testing.assert_allclose(found.means, read(f"relation/{name}_means.csv")[:, 0], atol=CLOSE)
    test = list(cells(f"{name}_test").values())
    assert found.squares == pytest.approx([float(row["Sum Sq"]) for row in test], rel=CLOSE)
    assert found.ratio == pytest.approx(float(test[0]["F"]), rel=CLOSE)
    assert found.p_value == pytest.approx(float(test[0]["Pr(>F)"]), abs=1e-15)
    pairs = read(f"relation/{name}_pairs.csv")
    np.testing.assert_allclose([pair.t for pair in found.pairs], pairs[:, 0], rtol=1e-6 if bci else 1e-9)
    np.testing.assert_allclose([pair.p_value for pair in found.pairs], pairs[:, 1], atol=1e-15)


@pytest.mark.parametrize("expand", [False, True])
def test_species_are_where_wascores_has_them(expand: bool) -> None:
    points, _ = principal("metrics/dune.csv", 2)
    expected = read(f"relation/dune_species{'_expanded' * expand}.csv")
    found = weighted_averages(points, read("metrics/dune.csv"), expand=expand)
    np.testing.assert_allclose(turned(found, expected), expected, atol=CLOSE)
