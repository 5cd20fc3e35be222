"""The kinds of values that models hold."""

import re
from importlib import import_module

from mlcli.base.stored import BY_TAG
from mlcli.rundir.archive import MODULES, TAGS
from tests.package import FILES, PACKAGE
from tests.processes import python

DECLARED = re.compile(r'@stored\(\s*"([^"]+)"')


def test_every_tag_has_the_module_that_declares_it() -> None:
    assert {".".join(path.relative_to(PACKAGE).with_suffix("").parts): tags for path in sorted(FILES)
                    if (tags := tuple(DECLARED.findall(path.read_text(encoding="utf-8"))))} == TAGS
    assert {tag: import_module(module) and BY_TAG[tag].kind.__module__ for tag, module in MODULES.items()} == MODULES


def test_a_kind_is_imported_when_a_model_names_it() -> None:
    assert python("import sys; from mlcli.rundir.archive import ARCHIVE, Kinds; "
                  "before = 'mlcli.core.similarities.columns' in sys.modules; Kinds()['columns']; "
                  "print(before, 'mlcli.core.similarities.columns' in sys.modules)") == "False True\n"
