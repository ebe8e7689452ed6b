"""The JSON requests of the Tinker interface, as far as this service reads them.

Field names are the SDK's (0.38). Fields that this service does not know are ignored, so that an SDK may add
one; a known field that would change the answer and is not supported here is refused, never ignored.
"""

from itertools import pairwise
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from runner.service.faults import UserFault
from runner.service.lora import LoraSpec

MAX_RANK = 1024
MAX_SAMPLES = 4096
TokenId = Annotated[int, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Name = Annotated[str, Field(max_length=200)]
Lifetime = Annotated[int, Field(ge=3600, le=10 * 366 * 86400)]
"""Seconds until a checkpoint expires: an hour to ten years, as the SDK says."""

Request = TypeVar("Request", bound="WireModel")


class WireModel(BaseModel):
    """Common settings: immutable, `model_` names allowed, unknown fields ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class LoraConfig(WireModel):
    """The adapter that a client wants."""

    rank: int = Field(ge=1, le=MAX_RANK)
    seed: int | None = None
    train_unembed: bool = True
    train_mlp: bool = True
    train_attn: bool = True

    def spec(self) -> LoraSpec:
        """Return the part that fixes the adapter's shape."""
        return LoraSpec(self.rank, self.train_unembed, self.train_mlp, self.train_attn)


class OptimizerConfig(WireModel):
    """The optimiser family; only AdamW is served."""

    type: Literal["adamw"] = "adamw"


class CreateModel(WireModel):
    """Start a training run on a base model."""

    session_id: str
    model_seq_id: int = Field(ge=0)
    base_model: str
    lora_config: LoraConfig
    optimizer_config: OptimizerConfig = OptimizerConfig()


class ModelRequest(WireModel):
    """A request about one training run."""

    model_id: str


class Ordered(ModelRequest):
    """A request that takes its turn in a training run; turn 0 created the run."""

    seq_id: int = Field(ge=1)


class AdamParams(WireModel):
    """One step's hyperparameters, none of them with a default: the SDK always sends all six."""

    learning_rate: Finite
    beta1: Decay
    beta2: Decay
    eps: NotNegative
    weight_decay: NotNegative
    grad_clip_norm: NotNegative


class OptimStep(Ordered):
    """Apply the accumulated gradient."""

    adam_params: AdamParams


class SaveWeights(Ordered):
    """Save weights and optimiser state under a name."""

    path: str
    overwrite: bool = False
    ttl_seconds: Lifetime | None = None


class SaveWeightsForSampler(Ordered):
    """Save weights for sampling: under a name, or for one sampling session of this server's lifetime."""

    path: str | None = None
    sampling_session_seq_id: int | None = Field(default=None, ge=0)
    ttl_seconds: Lifetime | None = None
    kind: Literal["snapshot"] = "snapshot"


class LoadWeights(WireModel):
    """Load a checkpoint, into a training run (`model_id`, `seq_id`) or into a new one."""

    path: str
    optimizer: bool
    model_id: str | None = None
    seq_id: int | None = Field(default=None, ge=1)
    session_id: str | None = None
    model_seq_id: int | None = Field(default=None, ge=0)
    base_model: str | None = None
    optimizer_config: OptimizerConfig | None = None


class WeightsInfo(WireModel):
    """Ask what a checkpoint holds."""

    tinker_path: str


class SessionRequest(WireModel):
    """A request about one session."""

    session_id: str


class CustomLossInput(WireModel):
    """An input of an uploaded loss: its name, and its rank in every datum."""

    name: str
    rank: Literal[0, 1, 2]


class CustomLossNode(WireModel):  # type: ignore[no-redef]  # the checker takes `kwargs` for __init__'s own
    """A node of a traced loss; `runner.service.custom_losses.graph` reads what it means."""

    op: str
    name: Name
    target: Name
    args: list[Any] = []
    kwargs: dict[str, Any] = {}


class CustomLossGraph(WireModel):
    """A traced loss: its nodes in execution order."""

    format: Literal[1] = 1
    nodes: list[CustomLossNode]


class CreateCustomLoss(SessionRequest):
    """Keep a traced loss for the training runs of a session."""

    custom_loss_seq_id: int = Field(ge=0)
    name: Name
    inputs: list[CustomLossInput]
    graph: CustomLossGraph


class CreateSamplingSession(SessionRequest):
    """Open a sampling session on a base model or on a checkpoint."""

    sampling_session_seq_id: int = Field(ge=0)
    base_model: str | None = None
    model_path: str | None = None


class Chunk(WireModel):
    """A piece of a prompt; images and audio are not served."""

    type: Literal["encoded_text"] = "encoded_text"
    tokens: list[TokenId]


class Prompt(WireModel):
    """A prompt in pieces."""

    chunks: list[Chunk]

    def tokens(self) -> list[int]:
        """Return the pieces as one list of token ids."""
        return [token for chunk in self.chunks for token in chunk.tokens]


class SamplingParams(WireModel):
    """How to draw; see `runner.service.generation` for what each one does."""

    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    stop: str | list[str] | list[TokenId] | None = None
    temperature: NotNegative = 1.0
    top_k: int = Field(default=-1, ge=-1)
    top_p: float = Field(default=1.0, gt=0, le=1)


class TargetTokens(WireModel):
    """Token ids to score at prompt positions: row i is about position i + 1; -1 is an empty cell.

    Dense, or in compressed rows, where only the listed cells ask for anything.
    """

    data: list[Annotated[int, Field(ge=-1, lt=2**31)]]
    dtype: Literal["int64"]
    shape: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]
    sparse_crow_indices: list[int] | None = None
    sparse_col_indices: list[int] | None = None

    @model_validator(mode="after")
    def _cells_fit(self) -> Self:
        rows, columns = self.shape
        if (self.sparse_crow_indices is None) != (self.sparse_col_indices is None):
            raise ValueError("sparse_crow_indices and sparse_col_indices come together")
        if self.sparse_crow_indices is None or self.sparse_col_indices is None:
            fits = len(self.data) == rows * columns
        else:
            starts = self.sparse_crow_indices
            fits = (
                len(starts) == rows + 1
                and (starts[0], starts[-1]) == (0, len(self.data))
                and all(one <= other for one, other in pairwise(starts))
                and len(self.sparse_col_indices) == len(self.data)
                and all(0 <= column < columns for column in self.sparse_col_indices)
            )
        if not fits:
            raise ValueError(f"the cells do not fit the shape {list(self.shape)}")
        return self

    def cell_rows(self) -> npt.NDArray[np.int64]:
        """Return the row of each cell in `data`."""
        if self.sparse_crow_indices is None:
            return np.repeat(np.arange(self.shape[0]), self.shape[1])
        return np.repeat(np.arange(self.shape[0]), np.diff(self.sparse_crow_indices))


class Sample(WireModel):
    """Draw completions of one prompt, and score the prompt if asked."""

    sampling_session_id: str
    seq_id: int = Field(ge=0)
    prompt: Prompt
    sampling_params: SamplingParams
    num_samples: int = Field(default=1, ge=1, le=MAX_SAMPLES)
    prompt_logprobs: bool = False
    prompt_logprobs_last_n: int | None = Field(default=None, ge=1)
    topk_sample_logprobs: int = Field(default=0, ge=0)
    topk_prompt_logprobs: int = Field(default=0, ge=0)
    target_prompt_logprobs: TargetTokens | None = None
    prompt_alt_tokens_k: int = Field(default=0, ge=0)
    record_stability_info: Literal[False] | None = None


class RetrieveFuture(WireModel):
    """Ask for the result of an operation."""

    request_id: str


def parse(model: type[Request], body: bytes) -> Request:
    """Read a JSON body.

    Raises:
        UserFault: If it is not JSON, or a field is missing, wrong or not supported; the message names each.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in error.errors(include_url=False)
        )
        raise UserFault(f"{model.__name__}: {problems}") from error
