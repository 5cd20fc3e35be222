"""Names of files in options and documents: any bytes are a name, and those that are no UTF-8 lone surrogates (PEP 383).

Pydantic takes texts without surrogates alone.
"""

import re
from typing import Annotated

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator

BYTES = re.compile("[\udc80-\udcff]")  # of a name that are no UTF-8


def any_bytes(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Return the text unchanged, checked as if such bytes were letters."""
    check(BYTES.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value)
    return value


Text = Annotated[str, WrapValidator(any_bytes)]  # may hold names of files
FileName = Annotated[str, Field(min_length=1), WrapValidator(any_bytes)]
