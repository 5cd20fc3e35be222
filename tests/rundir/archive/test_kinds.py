"""The kinds of values that models hold."""

import re
from importlib import import_module
from itertools import chain

from mlcli.base.stored import BY_TAG
from mlcli.core.metrics import METRICS
from mlcli.rundir.archive import MODULES, TAGS
from tests.package import FILES, PACKAGE
from tests.processes import python

DECLARED = re.compile(r'@stored\(\s*"([^"]+)"')


def test_every_tag_has_the_module_that_declares_it() -> None:
    declared = {tag: ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts))
                for path in sorted(FILES) for tag in DECLARED.findall(path.read_text(encoding="utf-8"))}
    assert declared == MODULES and not {f"{name}-metric" for name in METRICS} & {*chain(*TAGS.values())}
    assert {tag: import_module(module) and BY_TAG[tag].kind.__module__ for tag, module in MODULES.items()} == MODULES


def test_a_kind_is_imported_when_a_model_names_it() -> None:
    assert python("import sys; from mlcli.rundir.archive import ARCHIVE, Kinds; "
                  "before = 'mlcli.core.similarities.weights' in sys.modules; Kinds()['barycenters']; "
                  "print(before, 'mlcli.core.similarities.weights' in sys.modules)") == "False True\n"
