"""The shape of a JSON document: keys that must be there, or may be, with the types of their values."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, lt=2**53)]
Whole = Annotated[int, Field(gt=-(2**31), lt=2**31)]
Number = float  # finite
Name = Annotated[str, Field(max_length=2**20)]
Figure = bool | Whole | Number | None


class Shape(BaseModel):
    """Keys that must be there, or may be, with the types of their values; a document may hold more."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False, protected_namespaces=())
