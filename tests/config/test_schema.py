"""The schema uses draft 7's words only and accepts what the loader accepts."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcli.config.describe import rows
from mlcli.config.run_config import RunConfig
from mlcli.config.schema import schema
from mlcli.config.yaml_file import parse, read_document
from tests.config.support_schema import WORDS, valid

SCHEMA = schema()
EXAMPLES = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))


def schemas(node: Any) -> Iterator[dict[str, Any]]:
    """Every schema in the tree."""
    if isinstance(node, dict):
        yield node
        for word, item in node.items():
            if word in ("properties", "$defs"):
                for inner in item.values():
                    yield from schemas(inner)
            elif word in ("items", "additionalProperties"):
                yield from schemas(item)
            elif word in ("anyOf", "oneOf", "allOf"):
                for inner in item:
                    yield from schemas(inner)


def accepts(text: str) -> bool:
    return valid(parse(text, str).value, SCHEMA, SCHEMA)


def test_only_words_of_draft_7() -> None:
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert {word for node in schemas(SCHEMA) for word in node} <= WORDS
    assert not any("$ref" in node and len(node) > 1 for node in schemas(SCHEMA))


def test_every_reference_leads_somewhere() -> None:
    for node in schemas(SCHEMA):
        assert node.get("$ref", "#/$defs/Input").removeprefix("#/$defs/") in SCHEMA["$defs"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_fit(path: Path) -> None:
    value = read_document(path).value
    assert valid(value, SCHEMA, SCHEMA)
    if importlib.util.find_spec("jsonschema"):
        import jsonschema

        jsonschema.Draft7Validator(SCHEMA).validate(value)


@pytest.mark.parametrize("text", [
    "input: {path: a}", "input: {path: a}\nmethod: {name: isomap, neighbors: {count: 5}}",
    "input: {path: a}\nmethod: {eigensolve: {components: 0.5}}", "input: {path: a}\nmethod: {route: svd}",
    "input: {path: a}\nmethod: {name: kpca, kernel: {rate: 0.5}}", "input: {path: a}\nsweep: {compute.seed: [1, 2]}",
    "input: {path: a}\nmethod: {name: kpca, kernel: {name: polynomial, degree: 2}}\noutput: null",
    "input: {path: a}\nreport: {image: [32, 32, 3]}"])
def test_what_the_loader_accepts_fits(text: str) -> None:
    assert accepts(text)


@pytest.mark.parametrize("text", [
    "method: {name: pca}", "input: {path: 3}", "input: {path: a}\nmethod: {name: isomp}", "input: {path: a}\nzzz: 1",
    "input: {path: a}\nmethod: {neighbors: {count: 5}}", "input: {path: a}\nmethod: {name: lle, neighbors: {count: 0}}",
    "input: {path: a}\nreport: {image: [1, 2, 3, 4]}", "input: {path: a}\nsweep: {compute.seed: []}",
    "input: {path: a}\nmethod: {name: kpca, kernel: {degree: 2}}"])
def test_what_the_loader_refuses_does_not(text: str) -> None:
    assert not accepts(text)


def test_options_carry_their_sentences_and_defaults() -> None:
    described = {node["description"] for node in schemas(SCHEMA) if "description" in node}
    options = [row for row in rows(RunConfig) if row.type != "a section" and not row.path.endswith(".name")]
    assert {row.sentence for row in options} <= described
    assert SCHEMA["$defs"]["Neighbors"]["properties"]["count"]["default"] == 10
