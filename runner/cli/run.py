"""`audit run`: execute a plan on a Tinker service and log what its audits need."""

import shlex
from pathlib import Path
from typing import Annotated

import typer


def command(
    plan: Annotated[str, typer.Argument(help="Plan file (format 3), or the id of a shipped plan: demo.")],
    out: Annotated[Path, typer.Option(help="Run directory to write; it must not exist, or be empty.")],
    pilot: Annotated[
        bool, typer.Option("--pilot", help="Run the gate's pilot steps, evaluated on validation items.")
    ] = False,
    pilot_run: Annotated[
        Path | None, typer.Option(help="Pilot that allows this full run; default: the plan's newest one beside --out.")
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(help="'embedded' or a URL; default: TINKER_BASE_URL, else embedded for a shipped base model."),
    ] = None,
) -> None:
    """Run a plan: first with --pilot, then in full once the pilot's activation gate passed.

    The plan is sealed in the run directory before the first token is sampled. A full run without a passed pilot of
    the same plan is refused.

    Exit codes: 0 done, 2 usage, plan or service, 4 refused by the plan's own rules, 130 interrupted.
    """
    from analysis.errors import AuditError
    from runner.loop.launch import execute, load_plan, prepare, service_for
    from runner.loop.progress import progress_for

    if pilot and pilot_run is not None:
        raise AuditError("--pilot and --pilot-run exclude each other: a pilot needs no pilot")
    sealed = load_plan(plan)
    where = service_for(service, sealed.plan)
    progress = progress_for()
    try:
        launch = prepare(sealed, "pilot" if pilot else "full", out, pilot_run, progress)
        execute(launch, where, progress)
    except KeyboardInterrupt:
        progress.close()
        typer.echo(f"audit: interrupted; what {out} holds is whole, and run.json says so", err=True)
        raise typer.Exit(130) from None
    finally:
        progress.close()
    following = shlex.join(["audit", "gate" if pilot else "decide", str(out)])
    typer.echo(f"{out}: complete. Next: {following}")
