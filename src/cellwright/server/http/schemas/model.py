"""What every shape has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class ResponseModel(BaseModel):
    """What is answered; made of any value that has its fields."""

    # What has a default is answered too: the document says so, and clients need not ask whether it is there.
    model_config = ConfigDict(frozen=True, from_attributes=True, json_schema_serialization_defaults_required=True)


class RequestModel(BaseModel):
    """What is sent; a field nobody knows is a mistake, not nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")


PlainText = Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
