"""Runs the preflights of a plan and writes their results to the pilot's directory."""

import importlib
import pkgutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

import runner.loop.preflight
from analysis.errors import AuditError
from audits.engine.check import combine
from audits.engine.standing import required_preflights
from audits.store.manifest import MANIFEST_NAME, read_manifest
from audits.store.preflights import Comparison, PreflightResult, require_free, write_result
from audits.store.seal import SealedPlan
from runner.loop.backend import PROBE_SECONDS, Backend, open_backend
from runner.loop.probes.service import Preparation
from runner.loop.progress import Progress
from runner.provenance import command_line, git_state, utc_now, versions


class PreflightModule(Protocol):
    """What a preflight's file offers; its docstring says what it looks at."""

    run: Callable[[Preparation], Iterator[Comparison]]


def preflight_ids() -> list[str]:
    """Return the ids of all preflights, which are the names of their files."""
    return sorted(module.name for module in pkgutil.iter_modules(runner.loop.preflight.__path__))


def choose_preflights(sealed: SealedPlan, only: Sequence[str]) -> list[str]:
    """Return the preflights to run: those named, else those the plan requires, else all.

    Raises:
        AuditError: there is no preflight of that name.
    """
    known = preflight_ids()
    for name in only:
        if name not in known:
            raise AuditError(f"there is no preflight {name!r}. Known: {', '.join(known)}")
    return sorted(set(only) or set(required_preflights(sealed.plan)) or set(known))


def require_place(sealed: SealedPlan, out: Path) -> None:
    """Check that results of this plan may be written to a directory: new, or a pilot of the same plan.

    Raises:
        AuditError: the directory is used for something else.
    """
    if not (out / MANIFEST_NAME).exists():
        require_free(out, sealed.sha256)
        return
    manifest = read_manifest(out)
    if manifest.kind != "pilot" or manifest.plan_sha256 != sealed.sha256:
        raise AuditError(
            f"{out}: holds a {manifest.kind} run of plan {str(manifest.plan_sha256)[:12]}…, and the preflights of plan "
            f"{sealed.sha256[:12]}… belong into the directory of its own pilot. Choose another --out"
        )


def run_preflights(
    sealed: SealedPlan, out: Path, service: str, names: Sequence[str], progress: Progress
) -> list[PreflightResult]:
    """Run preflights on a service that is opened for them (see `run_preflights_on`)."""
    with tempfile.TemporaryDirectory(prefix="audit-preflight-") as state:
        return run_preflights_on(sealed, out, open_backend(service, Path(state)), names, progress)


def run_preflights_on(
    sealed: SealedPlan,
    out: Path,
    opening: AbstractContextManager[Backend],
    names: Sequence[str],
    progress: Progress,
) -> list[PreflightResult]:
    """Run preflights, each result written as soon as it is there.

    Args:
        sealed: the plan.
        out: the pilot's directory; it may not be there yet.
        opening: gives the service.
        names: which preflights.
        progress: shows how far they are.

    Raises:
        AuditError: the directory is used for something else, or the service fails.
    """
    require_place(sealed, out)
    results = []
    with opening as backend:
        for name in names:
            with _own_session(backend) as own:
                results.append(_run_one(sealed, out, own, name, progress))
            write_result(out, results[-1])
    return results


@contextmanager
def _own_session(backend: Backend) -> Iterator[Backend]:
    """Give a preflight a session: when it ends, the service forgets the many clients that were made in it."""
    if backend.connect is None:
        yield backend
        return
    client = backend.connect()
    try:
        yield replace(backend, client=client)
    finally:
        # A courtesy, as at the end of a run.
        with suppress(Exception):
            client.close("success").result(timeout=PROBE_SECONDS)


def _run_one(sealed: SealedPlan, out: Path, backend: Backend, name: str, progress: Progress) -> PreflightResult:
    module = cast(PreflightModule, importlib.import_module(f"{runner.loop.preflight.__name__}.{name}"))
    settings = getattr(sealed.plan.preflights, name).settings
    started_at, begun = utc_now(), time.monotonic()
    comparisons = list(module.run(Preparation(sealed, out, backend, settings, progress)))
    return PreflightResult(
        id=name,
        status=combine(item.status for item in comparisons),
        plan_sha256=sealed.sha256,
        started_at=started_at,
        seconds=time.monotonic() - begun,
        service={"kind": backend.kind, "url": backend.url, "base_model": sealed.plan.base_model},
        versions=versions(),
        git=git_state(Path.cwd()),
        command_line=command_line(),
        comparisons=comparisons,
        reasons=[f"{item.path}, {item.metric}: {item.reason}" for item in comparisons if item.status == "fail"],
    )
