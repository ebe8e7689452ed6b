"""Arguments and options that several commands take, each written once."""

from typing import Annotated

import typer

RunArgument = Annotated[
    str | None, typer.Argument(help="Run directory or s3://… URL; default: the newest under ./runs.")
]
Service = Annotated[
    str | None,
    typer.Option(help="'embedded' or a URL; default: TINKER_BASE_URL, else embedded for a shipped base model."),
]
ScanEngine = Annotated[str, typer.Option(help="Where the scans run: local or ray.")]
ClusterAddress = Annotated[str | None, typer.Option(help="Of a Ray cluster; default: one on this machine.")]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 whatever the status.")]
