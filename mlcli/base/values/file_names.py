"""File names in options and documents: any bytes, those that are not UTF-8 as lone surrogates (PEP 383).

Pydantic itself refuses texts with surrogates.
"""

import re
from typing import Annotated

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator

BYTES = re.compile("[\udc80-\udcff]")  # bytes of a name that are not UTF-8


def any_bytes(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Return the text unchanged, checked as if surrogates were letters."""
    check(BYTES.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value)
    return value


Text = Annotated[str, WrapValidator(any_bytes)]  # may hold names of files
FileName = Annotated[str, Field(min_length=1), WrapValidator(any_bytes)]
