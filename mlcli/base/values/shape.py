"""The schema of a JSON document: required and optional keys with the types of their values."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, lt=2**53)]
Whole = Annotated[int, Field(gt=-(2**31), lt=2**31)]
Number = float  # finite
Name = Annotated[str, Field(max_length=2**20)]
Figure = bool | Whole | Number | None


class Shape(BaseModel):
    """The base of schemas: required and optional keys with the types of their values; more keys are allowed."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False, protected_namespaces=(),
                              defer_build=True)  # most runs read no document back
