"""Run the service: `python -P -m runner.service --model tiny-addition --port 0 --state-dir DIR`."""

import argparse
import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from analysis.errors import AuditError
from runner.service.catalogue import SHIPPED_MODELS, known_names, model_folders
from runner.service.placement import CPU, Placement

LOOPBACK = "127.0.0.1"
QUIET_THREADS = {
    # One thread, asleep while it waits: spinning threads make everything slow beside any other busy process,
    # and a fixed number of threads keeps the last bits of every sum.
    "OMP_WAIT_POLICY": "PASSIVE",
    "GOMP_SPINCOUNT": "0",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}


def serve(
    models: Mapping[str, Path],
    port: int,
    state_dir: Path,
    announce: Callable[[str], None],
    *,
    placement: Placement = CPU,
    die_with_parent: bool = False,
) -> int:
    """Serve models on loopback until SIGINT or SIGTERM, then let the running operation end.

    Call it on the main thread of a process that has not imported torch yet.

    Args:
        models: Hugging Face model folders by name.
        port: The port on 127.0.0.1; 0 takes a free one.
        state_dir: The folder for checkpoints; made if it is not there.
        announce: Receives one JSON line, `{"url", "pid", "models"}`, once requests are served.
        placement: The device and the precision of the base models.
        die_with_parent: Also stop when standard input ends or the parent process is gone.

    Returns:
        0, after an orderly end.

    Raises:
        AuditError: If a model cannot be read, the state directory not written or the port not taken.
    """
    os.environ.update(QUIET_THREADS)
    listener = _listener(port)
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AuditError(f"--state-dir {state_dir}: {error.strerror}") from error

    from runner.service.server import run  # brings torch, so only after the environment is set

    url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    ready = json.dumps({"url": url, "pid": os.getpid(), "models": list(models)})
    run(models, placement, state_dir, listener, lambda: announce(ready), die_with_parent=die_with_parent)
    return 0


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A port whose last owner has gone may be taken at once, not after a minute of TIME_WAIT.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise AuditError(f"--port {port}: {error}. Choose another, or 0 for a free one.") from error
    return listener


def _announce(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Read the command line, serve, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -P -m runner.service", description="A local Tinker service.")
    parser.add_argument(
        "--model",
        action="append",
        metavar="NAME=DIR|DIR|NAME",
        help=f"a Hugging Face model folder, or a known name ({known_names()}); may be repeated",
    )
    parser.add_argument("--port", type=int, default=0, help=f"port on {LOOPBACK} (default 0: a free one)")
    parser.add_argument("--state-dir", type=Path, required=True, help="folder for checkpoints")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="cpu", help="device (default cpu)")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="precision of base weights")
    parser.add_argument("--gradient-checkpointing", action="store_true", help="trade time for memory")
    parser.add_argument(
        "--die-with-parent", action="store_true", help="stop when standard input ends or the parent is gone"
    )
    arguments = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    try:
        models = model_folders(arguments.model or list(SHIPPED_MODELS))
        placement = Placement(arguments.device, arguments.dtype, arguments.gradient_checkpointing)
        return serve(
            models,
            arguments.port,
            arguments.state_dir,
            _announce,
            placement=placement,
            die_with_parent=arguments.die_with_parent,
        )
    except AuditError as error:
        sys.stderr.write(f"audit: error: {error.message}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
