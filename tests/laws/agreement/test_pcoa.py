"""Classical scaling against R's cmdscale and ape's pcoa, with and without the corrections of ape and ade4."""

import numpy as np
import pytest

from mlcli.methods import Model
from tests import support
from tests.laws.agreement.tables import TOLERANCE, column, facts, read, score_deviation, value_deviation

SUMMARY = facts("pcoa/summary.json")
EUCLIDEAN = ("dune_euclidean", "varespec_bray_sqrt")
CURVED = ("eurodist", "UScitiesD", "capitales", "dune_bray", "watervoles")
CORRECTIONS = ("lingoes", "cailliez")


def fit(name: str, correction: str = "none", components: int = 2) -> Model:
    distances = support.dissimilarities(read(f"pcoa/{name}/D.csv"))
    return support.fit("mds", distances, correction=correction, components=components)


def corrected_values(name: str, correction: str) -> np.ndarray:
    return read(f"pcoa/{name}/eigenvalues_corrected_all.csv")[:, CORRECTIONS.index(correction)]


@pytest.mark.parametrize("name", CURVED + EUCLIDEAN)
def test_all_eigenvalues_and_points_are_those_of_cmdscale(name: str) -> None:
    points, values = read(f"pcoa/{name}/cmdscale_points.csv"), column(f"pcoa/{name}/eigenvalues_all.csv")
    model = fit(name, components=points.shape[1])
    assert value_deviation(model.spectrum.eigenvalues, values) < TOLERANCE
    assert score_deviation(model.embedding, points, values) < TOLERANCE


def test_signatures_are_those_of_r() -> None:
    """How many eigenvalues are positive and negative; eurodist has 9 negative ones."""
    for name in CURVED + EUCLIDEAN:
        values = fit(name).spectrum.eigenvalues
        zero = 1e-12 * values[0]
        assert (values > zero).sum() == SUMMARY[name]["n_positive"], name
        assert (values < -zero).sum() == SUMMARY[name]["n_negative"], name


def test_eurodist_has_the_published_eigenvalues() -> None:
    values = fit("eurodist").spectrum.eigenvalues
    assert np.round(values[[0, 1, -1]], 2).tolist() == [19538377.09, 11856555.33, -2251844.33]


@pytest.mark.parametrize("name", CURVED + EUCLIDEAN)
def test_shares_are_those_of_r(name: str) -> None:
    """Negative share, and both goodness-of-fit measures of cmdscale, from the whole signed spectrum."""
    spectrum, summary = fit(name).spectrum, SUMMARY[name]
    values = spectrum.eigenvalues
    assert abs(spectrum.negative_share - summary.get("negative_share_abs", 0)) < TOLERANCE
    assert abs(values[:2].sum() / np.abs(values).sum() - summary["GOF_k2"][0]) < TOLERANCE
    assert abs(values[:2].sum() / values[values > 0].sum() - summary["GOF_k2"][1]) < TOLERANCE


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", CURVED)
def test_corrected_eigenvalues_and_points(name: str, correction: str) -> None:
    model, values = fit(name, correction), corrected_values(name, correction)
    assert value_deviation(model.spectrum.eigenvalues, values) < TOLERANCE
    assert score_deviation(model.embedding, read(f"pcoa/{name}/points_{correction}_2d.csv"), values) < TOLERANCE


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", CURVED)
def test_corrected_eigenvalues_and_proportions_are_those_of_ape(name: str, correction: str) -> None:
    """ape's Rel_corr_eig is over the corrected trace, as `proportion` is."""
    spectrum, table = fit(name, correction).spectrum, read(f"pcoa/{name}/ape_pcoa_{correction}_values.csv")
    assert value_deviation(spectrum.eigenvalues, table[:, 1]) < TOLERANCE
    assert np.abs(spectrum.proportions - table[:, 2]).max() < TOLERANCE
    assert np.abs(np.cumsum(spectrum.proportions) - table[:, 4]).max() < TOLERANCE


@pytest.mark.parametrize("name", CURVED)
def test_lingoes_adds_its_constant_to_every_eigenvalue_but_zeros(name: str) -> None:
    """The constant is the size of the smallest eigenvalue, which becomes the second zero."""
    plain, corrected = fit(name).spectrum.eigenvalues, fit(name, "lingoes").spectrum.eigenvalues
    constant = SUMMARY[name]["lingoes_c1"]
    scale = plain[0]
    assert abs(-plain[-1] - constant) < TOLERANCE * scale
    zero = int(np.argmin(np.abs(plain)))
    shifted = np.delete(plain, zero) + constant
    assert np.abs(corrected - np.append(shifted, 0)).max() < TOLERANCE * scale


@pytest.mark.parametrize(("correction", "key", "power"), [("lingoes", "lingoes_c1", 2), ("cailliez", "cailliez_c2", 1)])
@pytest.mark.parametrize("name", CURVED)
def test_the_constants_told_are_those_of_ape(name: str, correction: str, key: str, power: int) -> None:
    """Lingoes' is added to squares, Cailliez' to the dissimilarities themselves."""
    with support.Notes() as heard:
        fit(name, correction)
    told = [note.facts["constant"] for note in heard.notes if note.code == "N-CORRECTION"]
    assert len(told) == 1
    assert abs(told[0] - SUMMARY[name][key]) < TOLERANCE * SUMMARY[name]["max_d"] ** power


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", CURVED)
def test_nothing_negative_is_left(name: str, correction: str) -> None:
    values = fit(name, correction).spectrum.eigenvalues
    assert values[-1] > -1e-12 * values[0]
    assert np.abs(values[-2:]).max() < 1e-10 * values[0]


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", EUCLIDEAN)
def test_euclidean_dissimilarities_need_no_correction(name: str, correction: str) -> None:
    """ape leaves them alone, and so must we.

    Not compared: eigenvalues_corrected_all.csv of these two, which adds Cailliez's constant as computed. It is
    zero, but of a defective matrix, so R finds 1.7e-7 and 8.3e-9 and its eigenvalues are off by 2e-8 and 5e-8.
    """
    model, plain = fit(name, correction), fit(name)
    assert value_deviation(model.spectrum.eigenvalues, plain.spectrum.eigenvalues) < 1e-13
    ape = read(f"pcoa/{name}/ape_pcoa_{correction}_values.csv")
    assert value_deviation(model.spectrum.eigenvalues[: len(ape)], ape[:, 0]) < TOLERANCE
    assert np.abs(model.spectrum.proportions[: len(ape)] - ape[:, 1]).max() < TOLERANCE
