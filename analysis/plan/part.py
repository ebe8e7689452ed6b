"""What every block of a plan is: frozen, and without room for a misspelt setting."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(ge=1)]
Decay = Annotated[float, Field(ge=0.0, lt=1.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class PlanPart(BaseModel):
    """A frozen block of a plan that refuses unknown keys, NaN and infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
