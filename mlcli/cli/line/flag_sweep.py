"""Several values of a flag, separated by commas: a run for each combination of them, as `-m pca,isomap -k 5,8`."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mlcli.base.values.options import TAG
from mlcli.cli.line.flags import FLAGS, layer_of, value_for
from mlcli.config.build import is_option, pop_value, with_tags
from mlcli.config.layers import Layer
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import MOST_RUNS, SweepVariant, leaves
from mlcli.errors import ConfigError

METHOD = "method"


def flag_sweep(flags: Mapping[str, Any], several: Mapping[str, Sequence[str]],
               outer: Callable[[Layer], Layer]) -> list[SweepVariant]:
    """Return the runs that flags describe, one for each combination of values; the last flag varies fastest.

    `several` holds the texts of the flags that have several values, and `outer` puts the layer of flags above the other
    ones. Of several methods each gets the options that it has, those from other layers too. An option that none of them
    has stays in all, to be refused.
    """
    if (count := math.prod(map(len, several.values()))) > MOST_RUNS:
        raise ConfigError("SWEEP", f"the flags make {count} runs, more than {MOST_RUNS}",
                          where=", ".join(FLAGS[name].names[0] for name in several))
    variants = []
    for combination in itertools.product(*several.values()):
        chosen = dict(zip(several, combination, strict=True))
        values = {FLAGS[name].path: value_for(FLAGS[name], text) for name, text in chosen.items()}
        variants.append(SweepVariant(outer(layer_of({**flags, **chosen})), values))
    return [*distinct(suited(variants))] if "method" in several else variants


def suited(variants: Sequence[SweepVariant]) -> Iterator[SweepVariant]:
    """Yield the variants without the options that their own method has not, but another one has."""
    foreign = [foreign_options(variant.layer) for variant in variants]
    unknown = frozenset.intersection(*foreign)
    for variant, options in zip(variants, foreign, strict=True):
        layer, left_out = variant.layer, options - unknown
        for keys in left_out:
            origins = {path: origin for path, origin in layer.origins.items() if path[:len(keys)] != keys}
            layer = replace(layer, values=pop_value(layer.values, keys)[1], origins=origins)
        yield SweepVariant(layer, {path: value for path, value in variant.values.items()
                                   if tuple(path.split(".")) not in left_out})


def foreign_options(layer: Layer) -> frozenset[tuple[str, ...]]:
    """Return the paths of those values of a layer that are no options of its method."""
    complete = with_tags(RunConfig, layer.values)
    given = [keys for keys in leaves(layer.values) if keys[0] == METHOD and keys != (METHOD, TAG)]
    paths = {keys: ".".join(keys) for keys in given}
    return frozenset(keys for keys, path in paths.items()
                     if not any(is_option(other, complete) for other in (path, layer.either.get(path, path))))


def distinct(variants: Iterator[SweepVariant]) -> Iterator[SweepVariant]:
    """Yield each variant once: those that differed only in an option that their method has not are one."""
    known: list[Mapping[str, Any]] = []
    for variant in variants:
        if variant.values not in known:
            known.append(variant.values)
            yield variant
