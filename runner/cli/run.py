"""`audit run`: execute a plan on a Tinker service and log what its audits need."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from runner.arguments import Service


def command(
    plan: Annotated[str, typer.Argument(help="Plan file (format 3), or the id of a shipped plan: demo.")],
    out: Annotated[Path, typer.Option(help="Run directory to write; new or empty, unless --resume is given.")],
    pilot: Annotated[
        bool, typer.Option("--pilot", help="Run the gate's pilot steps, evaluated on validation items.")
    ] = False,
    pilot_run: Annotated[
        Path | None, typer.Option(help="Pilot that allows this full run; default: the plan's newest one beside --out.")
    ] = None,
    sweep: Annotated[
        Path | None,
        typer.Option(help="Folder of the sweep that chose the rate; default: the plan's newest one beside --out."),
    ] = None,
    service: Service = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, from the last whole step of every arm.")
    ] = False,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Arms at the same time; default: all, but no more than 8.")
    ] = None,
    save_every: Annotated[
        int, typer.Option(min=1, help="Steps between saved states; a kill loses what was trained after the last one.")
    ] = 1,
    retries: Annotated[int, typer.Option(min=0, help="How often work that a service fault ended is tried again.")] = 20,
    retry_seconds: Annotated[float, typer.Option(min=0.0, help="How long, from its first fault.")] = 900.0,
    result_seconds: Annotated[
        float, typer.Option(min=1.0, help="After this long without a result a request counts as stalled.")
    ] = 1800.0,
    gpus: Annotated[
        float, typer.Option(min=0.0, help="GPUs that the service holds: GPU-hours are wall hours times this.")
    ] = 1.0,
) -> None:
    """Run a plan: first with --pilot, then in full once the pilot's activation gate passed.

    The plan is sealed in the run directory before the first token is sampled. A full run without a passed pilot of
    the same plan is refused.

    Ctrl-C or SIGTERM puts the work away and exits 130; the same command with --resume goes on, also after a kill. A run
    stops by itself before the plan's budget is spent.

    Exit codes: 0 done, 2 usage, plan or service, 4 refused by the plan's own rules, 130 interrupted.
    """
    from analysis.errors import AuditError
    from runner.loop.faults import Patience
    from runner.loop.launch import execute, load_plan, prepare, service_for
    from runner.loop.options import RunOptions
    from runner.loop.progress import progress_for

    if pilot and pilot_run is not None:
        raise AuditError("--pilot and --pilot-run exclude each other: a pilot needs no pilot")
    if resume and pilot_run is not None:
        raise AuditError("--resume goes on with the pilot that the run names: leave --pilot-run out")
    if resume and sweep is not None:
        raise AuditError("--resume keeps the sweep that the run recorded: leave --sweep out")
    sealed = load_plan(plan)
    where = service_for(service, sealed.plan)
    options = RunOptions(concurrency, save_every, Patience(retries, retry_seconds, result_seconds), gpus)
    progress = progress_for()
    following = shlex.join(["audit", "gate" if pilot else "decide", str(out)])
    try:
        launch = prepare(sealed, "pilot" if pilot else "full", out, pilot_run, progress, resume=resume, sweep=sweep)
        if launch.is_complete:
            typer.echo(f"{out}: was complete already. Next: {following}")
            return
        execute(launch, where, progress, options)
    except KeyboardInterrupt:
        progress.close()
        typer.echo(f"audit: interrupted; what {out} holds is whole. The same command with --resume goes on", err=True)
        raise typer.Exit(130) from None
    finally:
        progress.close()
    typer.echo(f"{out}: complete. Next: {following}")
