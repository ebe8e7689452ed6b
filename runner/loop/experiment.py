"""The experiment: the base model's evaluation and the arms, several at the same time against one service.

All arms go through `runner.loop.arms.train_arm`; the only thing it reads from the arm besides its names and its seed is
the loss. Each request carries its seed, so that the tables do not depend on which arm the service serves first.
"""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from functools import partial

from analysis.errors import AuditError, Refused
from analysis.plan.model import Arm, Plan
from audits.store.writer import Columns, RunWriter
from runner.loop import evaluation, records
from runner.loop.arms import Standing, take_up, train_arm
from runner.loop.backend import Backend
from runner.loop.checkpoints import Checkpoint, evaluate_checkpoint, open_sampler
from runner.loop.faults import Trials
from runner.loop.prompts import PromptRenderer
from runner.loop.setting import Conduct, Experiment, Kind, is_evaluated
from runner.loop.stopping import Stop, Stopped, signals_noticed
from runner.loop.task import load_task, of_split

_LISTEN_SECONDS = 0.25

Job = Callable[[], None]


class BudgetReached(Refused):
    """The run stopped itself before the plan's budget was spent."""


def run_experiment(kind: Kind, plan: Plan, backend: Backend, conduct: Conduct) -> None:
    """Run what is missing of the arms of a plan and log it.

    Raises:
        AuditError: the plan asks for what the task or the service does not have, or the service fails.
        BudgetReached: the next piece of work would end after the plan's cap.
        KeyboardInterrupt: the run was interrupted; the state is saved.
    """
    task = load_task(plan.task.id)
    problems = task.problems(plan.task, plan.dataset)
    if not of_split(problems, "train"):
        raise AuditError(f"task {plan.task.id!r} has no training problems")
    writer = conduct.writer
    missing = [arm for arm in plan.arms if not _is_final(writer, arm.condition, arm.seed)]
    first = _first_standing(plan, backend, conduct, missing[0] if missing else plan.arms[0])
    renderer = PromptRenderer(first.policy.tokenizer, plan.rollout)
    prompts = renderer.render(task, problems)
    _write_or_compare_prompts(writer, records.prompt_columns(prompts))
    experiment = Experiment(kind, plan, task, backend, conduct, renderer, prompts)
    standings = {first.arm.name: first} if missing else {}
    arms = [partial(train_arm, experiment, arm, standings.get(arm.name)) for arm in missing]
    _run_jobs(partial(_evaluate_base, experiment), arms, conduct)


def _first_standing(plan: Plan, backend: Backend, conduct: Conduct, arm: Arm) -> Standing:
    """Take up the first arm before the others begin: its tokenizer renders the prompts of all."""
    taken: list[Standing] = []

    def work(session: Backend, _trials: Trials) -> None:
        taken.append(take_up(session, conduct.writer, plan, arm))

    conduct.persistently(arm.name, backend, work)
    return taken[-1]


def _is_final(writer: RunWriter, arm: str, seed: int) -> bool:
    return is_evaluated(writer, arm, seed, evaluation.FINAL_CHECKPOINT)


def _write_or_compare_prompts(writer: RunWriter, columns: Columns) -> None:
    """Write the prompts, or check that they are those that the run was begun with."""
    if not any(record.table == "prompts" for record in writer.files()):
        writer.write_prompts(columns)
        return
    before = writer.read_prompts(["prompt_id", "split", "prompt_sha256", "gold"])
    differing = [name for name, values in before.items() if values != list(columns[name])]
    if differing:
        raise Refused(
            f"{writer.run}: cannot be resumed, the task's data or its rendering changed: {', '.join(differing)} of "
            "prompts.parquet are others than the task gives here. Restore the data, or begin a new run"
        )


def _evaluate_base(experiment: Experiment) -> None:
    def work(backend: Backend, _trials: Trials) -> None:
        @functools.cache
        def sampler() -> object:
            return open_sampler(backend, base_model=experiment.plan.base_model)

        if experiment.curve:
            start = Checkpoint(evaluation.BASE_ARM, evaluation.BASE_SEED, evaluation.step_checkpoint(0))
            evaluate_checkpoint(experiment, backend, start, experiment.curve_items, sampler)
        base = Checkpoint(evaluation.BASE_ARM, evaluation.BASE_SEED, evaluation.BASE_CHECKPOINT)
        evaluate_checkpoint(experiment, backend, base, experiment.items, sampler)

    experiment.conduct.persistently("base model", experiment.backend, work)


def _run_jobs(base: Job, arms: Sequence[Job], conduct: Conduct) -> None:
    """Run the base model's evaluation and the arms, so many at a time as the options say."""
    at_once = conduct.options.arms_at_once(len(arms))
    # Where arms run at the same time, the base model is evaluated beside them.
    workers = at_once if at_once == 1 else at_once + 1
    with signals_noticed() as noticed, ThreadPoolExecutor(workers, thread_name_prefix="arm") as pool:
        futures = [pool.submit(job) for job in (base, *arms)]
        _listen(futures, conduct, noticed)
    faults = [error for error in map(_error_of, futures) if error is not None]
    if conduct.stop.reason == "interrupted":
        for error in faults:
            conduct.note(f"while stopping: {error}")
        raise KeyboardInterrupt
    if faults:
        raise faults[0]
    if conduct.stop.reason == "budget":
        cap, spent = conduct.budget.cap_seconds or 0.0, conduct.budget.spent_seconds
        raise BudgetReached(
            f"{conduct.writer.run}: stopped by the plan's budget: {spent / 60:.1f} of {cap / 60:.1f} minutes are used "
            "and the next piece of work would not fit. What was logged is whole and the state is saved, but no claim "
            "rests on it: seal a plan with a larger budget, or a smaller experiment"
        )


def _listen(futures: Sequence[Future[None]], conduct: Conduct, noticed: Sequence[int]) -> None:
    """Wait for all jobs; the first error, or a stop, lets those not begun fall and the others put their work away.

    Args:
        futures: the jobs.
        conduct: is asked to stop.
        noticed: signals that arrived.
    """
    waiting, told = set(futures), False
    while waiting:
        # A short wait, over and over: signals are handled in between.
        done, waiting = wait(waiting, timeout=_LISTEN_SECONDS)
        if noticed:
            conduct.stop.ask("interrupted")
        if any(isinstance(_error_of(future), BaseException) for future in done):
            conduct.stop.ask("fault")
        if conduct.stop.asked and not told:
            told = True
            _tell_of_stop(conduct.stop, conduct)
            for future in waiting:
                future.cancel()


def _tell_of_stop(stop: Stop, conduct: Conduct) -> None:
    if stop.reason == "interrupted":
        conduct.writer.update_manifest(status="interrupted")
        conduct.note("stopping: each arm puts its work away; a second signal ends the process at once")


def _error_of(future: Future[None]) -> BaseException | None:
    """Return what a finished job died of; having stopped when asked is no error."""
    try:
        error = future.exception()
    except CancelledError:
        return None
    return None if isinstance(error, Stopped) else error
