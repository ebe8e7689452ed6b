"""`audit serve`: a local service that the tinker SDK accepts."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    model: Annotated[
        list[str] | None,
        typer.Option(help="Base model: NAME=FOLDER, a FOLDER, or a shipped name; default: every shipped model."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    state_dir: Annotated[Path, typer.Option(help="Where checkpoints are kept.")] = Path("runs/service-state"),
) -> None:
    """Serve base models to the unmodified tinker SDK, on this machine only, until Ctrl-C.

    Point a client at it with TINKER_BASE_URL (printed as `url`) and any TINKER_API_KEY that starts with tml-.
    """
    import logging

    from runner.extras import require_train_extra
    from runner.service.__main__ import serve
    from runner.service.catalogue import SHIPPED_MODELS, model_folders

    require_train_extra()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    raise typer.Exit(serve(model_folders(model or list(SHIPPED_MODELS)), port, state_dir, typer.echo))
