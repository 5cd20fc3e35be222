"""Other names of methods, and options that stand in one place or another by the method."""

from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

from mlcli.base.stored import BY_KIND, BY_TAG, stored
from mlcli.config import build
from mlcli.config.build import outside_layer
from mlcli.config.flags import layer_of
from mlcli.config.layers import Layer, assignment, from_file
from mlcli.config.run_config import RunConfig
from mlcli.core.similarities.base import Similarity
from mlcli.errors import ConfigError, DependencyMissing
from mlcli.methods import ALIASES, METHODS, remedy_for
from mlcli.methods.not_included import BY_NAME, LACKING, NotIncluded
from mlcli.methods.trials import LAWS, variant
from mlcli.rundir.archive import MODULES


def made(text: str, tmp_path: Path, **flags: object) -> RunConfig:
    path = tmp_path / "run.yaml"
    path.write_text(f"input: {{path: a.csv}}\n{text}")
    return build.build(layer_of(flags).over(from_file(path)))


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_an_alias_is_the_method(alias: str, tmp_path: Path) -> None:
    assert alias not in METHODS
    config = made(f"method: {{name: {alias}}}\n", tmp_path)
    assert config.method == METHODS[ALIASES[alias]]()
    assert config.method == made("", tmp_path, method=alias).method
    assert f"name: {ALIASES[alias]}" in build.write(config)


@pytest.mark.parametrize("typed", ["PCA", "Isomap", "PCoA", "Eigenfaces"])
def test_capitals_tell_no_methods_apart(typed: str, tmp_path: Path) -> None:
    assert made(f"method: {{name: {typed}}}\n", tmp_path).method == made("", tmp_path, method=typed.lower()).method


@pytest.mark.parametrize("lacking", LACKING, ids=lambda lacking: lacking.names[0])
def test_what_serves_instead_of_a_missing_method_is_there(lacking: NotIncluded, tmp_path: Path) -> None:
    """Flags in its words set options of the method that is named, and its name is not one that is known."""
    words = lacking.why.replace(",", " ").split()
    flags = [*pairwise(words)]
    assignments = [value for flag, value in flags if flag == "--set"]
    metric = {"metric": value} if (value := dict(flags).get("--metric")) else {}
    layer = outside_layer({}, assignments, layer_of({"method": lacking.nearest, **metric}))
    config = build.build(layer.over(assignment("input.path", "a.csv", "DATA")))
    assert config.method.name == lacking.nearest and len(lacking.why) < 150
    assert not {*METHODS, *ALIASES} & set(lacking.names)
    for name in lacking.names:
        start = f"it is {lacking.nearest} " if lacking.same else (
            f"it is not available; the closest method is {lacking.nearest}: ")
        assert remedy_for(name.upper().replace("-", "_")).startswith(start)


def test_a_method_that_is_here_under_options_is_not_called_missing() -> None:
    assert remedy_for("minres") == "it is fa with {method.estimator=minres}"
    assert remedy_for("densMAP").startswith("it is umap with --set method.density")


def test_names_of_missing_methods_stand_in_one_entry_each() -> None:
    assert len(BY_NAME) == sum(len(lacking.names) for lacking in LACKING)


@pytest.mark.parametrize(("typed", "meant"), [("PCA", "pca"), ("kernel_pca", "kernel-pca"), ("isomp", "isomap"),
                                              ("Laplacian Eigenmaps", "laplacian-eigenmaps"), ("pac", "pca"),
                                              ("ACP", "pca"), ("xyz", "")])
def test_a_misspelling_has_the_nearest_in_spelling(typed: str, meant: str) -> None:
    assert remedy_for(typed) == (f"did you mean {meant!r}?" if meant else "")


@pytest.mark.parametrize("method", METHODS)
def test_the_flag_for_axes_reaches_every_method(method: str, tmp_path: Path) -> None:
    config = made("", tmp_path, method=method, components="3")
    assert config.method.axes_options.components == 3 and config.method.axes_options.chosen("components")
    section = config.method.axes_section()
    over = made(f"method: {{name: {method}, {section}: {{components: 1}}}}\n", tmp_path, components="4")
    assert over.method.axes_options.components == 4


def test_the_flag_keeps_its_name_in_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        made("", tmp_path, method="fa", components="0.5")
    assert caught.value.where == "-p" and "method.axes.components " in caught.value.what


@pytest.mark.parametrize(("method", "wrong", "right"), [("fa", "eigensolve", "axes"), ("pca", "axes", "eigensolve")])
def test_the_other_section_says_where_the_option_stands(method: str, wrong: str, right: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        made(f"method: {{name: {method}, {wrong}: {{components: 1}}}}\n", tmp_path)
    assert f" method.{right}" in caught.value.hint and "run.yaml:2" in caught.value.where


def test_an_extra_that_is_missing_is_named_before_anything_is_read(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the options: only the svd route of this method needs it."""
    monkeypatch.setattr(METHODS["pca"], "requires", lambda self: ("neural",) if self.route == "svd" else ())
    monkeypatch.setattr("mlcli.base.values.extras.find_spec", lambda name: None)
    assert made("method: {name: pca}\n", tmp_path).method.name == "pca"
    with pytest.raises(DependencyMissing) as caught:
        made("method: {name: pca, route: svd}\n", tmp_path)
    assert (caught.value.code, caught.value.exit_code) == ("E-EXTRA", 69)
    assert caught.value.hint == "pip install 'manifold-cli[neural]'" and "run.yaml:2" in caught.value.where


def test_a_value_alone_in_its_section_leaves_none_behind() -> None:
    values = {"input": {"path": "a"}, "method": {"name": "ica", "eigensolve": {"components": 3}}}
    layer = Layer(values, {("method", "eigensolve", "components"): "-p"}, {
        "method.eigensolve.components": "method.axes.components"})
    assert build.resolve_either(layer).values["method"] == {"name": "ica", "axes": {"components": 3}}


def test_every_similarity_is_stored_under_a_tag_of_its_own() -> None:
    for module in MODULES.values():
        import_module(module)
    families = Similarity.__subclasses__()
    kinds = [kind for family in families for kind in family.__subclasses__() or [family]]
    assert len({BY_KIND[kind].tag for kind in kinds}) == len(kinds) >= 10
    with pytest.raises(ValueError, match="'columns'"):
        stored("columns")(type("Another", (), {}))
    assert BY_TAG["columns"].kind is not None


def test_a_way_breaks_laws_that_there_are() -> None:
    broken = {law for kind in METHODS.values() for each in kind.variants for law in each.broken}
    assert broken == LAWS.keys()  # a law that nothing breaks needs no name
    with pytest.raises(ValueError, match="gravity"):
        variant("falling", "gravity")
