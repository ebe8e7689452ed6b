"""One arm: trained from its latest saved state to its last step, then evaluated.

The order in a step keeps log and weights together whatever dies when: the state is saved, then recorded, then the rows
are listed. Killed anywhere in between, the arm goes on from the step before, and that step is logged once.
"""

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.plan.model import Arm, Plan
from audits.store.writer import RunWriter
from runner.loop import evaluation, records
from runner.loop.backend import Backend
from runner.loop.checkpoints import Checkpoint, evaluate_checkpoint, open_sampler
from runner.loop.credit.directions import directions
from runner.loop.credit.estimation import Credit, CriticCredit, group_credit
from runner.loop.credit.measurement import measure_states
from runner.loop.credit.saved_critics import restore_critic, save_critic
from runner.loop.faults import Trials
from runner.loop.phases import PhaseLog
from runner.loop.policy import Policy, create_policy, restore_policy, save_for_sampling, save_state
from runner.loop.preferences import pairs_of
from runner.loop.progress import StepReport
from runner.loop.prompts import Prompt
from runner.loop.resume import rewind
from runner.loop.sampling import RolloutBatch, SamplingSettings, sample_batch
from runner.loop.saved_states import SavedState, SavedStates
from runner.loop.schedule import training_order
from runner.loop.setting import Experiment
from runner.loop.stopping import Stopped
from runner.loop.task import training_grader
from runner.loop.training import Update, train_batch


@dataclass(frozen=True)
class Standing:
    """Where an arm stands: its weights on the service, its critic where it has one, and the step to train next."""

    arm: Arm
    policy: Policy
    states: SavedStates
    next_step: int
    critic: CriticCredit | None = None


def take_up(backend: Backend, writer: RunWriter, plan: Plan, arm: Arm) -> Standing:
    """Bring an arm's log and weights to the same step: its latest saved state, or the beginning.

    Raises:
        AuditError: the service does not have the base model, or no longer holds the saved state.
    """
    states = SavedStates(writer.run, arm.condition, arm.seed)
    state = rewind(writer, arm, states)
    critic = None if arm.advantage is None else CriticCredit(plan.advantages[arm.advantage], arm.seed)
    if state is None:
        return Standing(arm, create_policy(backend, plan, arm), states, 0, critic)
    if critic is not None:
        restore_critic(writer.run, arm.condition, arm.seed, state.slot, critic)
    return Standing(arm, restore_policy(backend, arm, state.path), states, state.step + 1, critic)


def train_arm(experiment: Experiment, arm: Arm, standing: Standing | None) -> None:
    """Train one arm to its last step and evaluate its final checkpoint; faults lead back to its last saved state.

    Args:
        experiment: the experiment.
        arm: the arm.
        standing: where it stands, None where it has not been taken up yet.

    Raises:
        AuditError: the service refused, or its faults did not pass.
        Stopped: the run was asked to stop; what the arm had done by then is saved.
    """
    at_first = [standing] if standing is not None else []

    def work(backend: Backend, trials: Trials) -> None:
        here = at_first.pop() if at_first else take_up(backend, experiment.writer, experiment.plan, arm)
        if here.next_step:
            experiment.conduct.note(f"{arm.name}: goes on with step {here.next_step + 1}/{experiment.steps}")
        experiment.conduct.note_executed("arms", here.policy.executed, identity=("arm", "seed"))
        _Training(experiment, backend, here, trials).run()

    experiment.conduct.persistently(arm.name, experiment.backend, work)


class _Training:
    """The training of one arm with one training client."""

    def __init__(self, experiment: Experiment, backend: Backend, standing: Standing, trials: Trials) -> None:
        self._experiment, self._backend, self._trials = experiment, backend, trials
        self._conduct, self._plan = experiment.conduct, experiment.plan
        self._arm, self._policy, self._states = standing.arm, standing.policy, standing.states
        self._critic = standing.critic
        self._loss = self._plan.losses[self._arm.loss]
        self._first = standing.next_step
        self._saved_step = standing.next_step - 1
        self._begun = time.monotonic()

    def run(self) -> None:
        """Train from the first step that is missing, then evaluate."""
        train = self._experiment.split("train")
        order_seed = self._arm.seed if self._plan.task.order == "shuffled_by_seed" else None
        groups, steps = self._plan.rollout.groups_per_batch, self._experiment.steps
        order = training_order(len(train), groups, steps, order_seed)
        for step in range(self._first, steps):
            self._step(step, [train[index] for index in order[step]])
            self._trials.progressed()
        self._evaluate_final()

    def _step(self, step: int, prompts: Sequence[Prompt]) -> None:
        log = PhaseLog(step)
        try:
            self._may_go_on("step")
            batch, sampler = self._sample(log, step, prompts)
            self._conduct.stop.check()
        except Stopped:
            # Nothing was trained in this step yet, so the weights are those after the step before.
            if self._saved_step < step - 1:
                self._save(step - 1)
            raise
        credit = self._credit(log, batch)
        measured = self._measured(log, sampler, batch, credit)
        with log.timed("train"):
            updates = self._train(batch, credit)
        if (step + 1) % self._conduct.options.save_every == 0 or step + 1 == self._experiment.steps:
            with log.timed("checkpoint"):
                self._save(step)
        tables = {
            "tokens": records.token_columns(batch, updates, credit),
            "rollouts": records.rollout_columns(batch, one_advantage=self._critic is None),
            "updates": records.update_columns(self._plan, self._arm, self._policy.base_model, step, updates),
            "phases": records.phase_columns(log.phases),
            **measured,
        }
        if self._loss.top_k is not None:
            tables["candidates"] = records.candidate_columns(batch, updates)
        self._conduct.writer.write_step(self._arm.condition, self._arm.seed, step, tables)
        self._conduct.pace.note("step", log.seconds)
        self._conduct.note_step(self._report(batch, updates, log))

    def _train(self, batch: RolloutBatch, credit: Credit) -> list[Update]:
        pairs = None
        if self._loss.kind == "preference":
            pairs = pairs_of(self._backend, self._base_sampler, batch)
        per_batch = self._plan.rollout.updates_per_batch
        return train_batch(
            self._backend, self._policy, self._loss, self._plan.optimizer, batch, credit, per_batch, pairs
        )

    @functools.cached_property
    def _base_sampler(self) -> Any:
        return open_sampler(self._backend, base_model=self._plan.base_model)

    def _may_go_on(self, work: str) -> None:
        """Give up before work that would end after the plan's budget, or that nobody wants any longer."""
        if not self._conduct.budget.allows(self._conduct.pace.longest(work)):
            self._conduct.stop.ask("budget")
        self._conduct.stop.check()

    def _credit(self, log: PhaseLog, batch: RolloutBatch) -> Credit:
        """Return the advantages of the batch's tokens; a critic then learns from it."""
        if self._critic is None:
            return group_credit(batch)
        with log.timed("estimate"):
            credit = self._critic.credit(self._backend, self._policy, batch)
        if batch.step == self._first:
            entry = {"arm": self._arm.condition, "seed": self._arm.seed, **self._critic.described}
            self._conduct.note_executed("critics", entry, identity=("arm", "seed"))
        return credit

    def _measured(self, log: PhaseLog, sampler: Any, batch: RolloutBatch, credit: Credit) -> dict[str, records.Columns]:
        """Return the tables of what was measured in this step; none where the plan measures nothing then."""
        asked = self._plan.advantage_measurement
        if asked is None or self._loss.kind == "preference" or batch.step % asked.every_steps:
            return {}
        with log.timed("measure"):
            experiment, session = self._experiment, self._backend.stopping_on(self._conduct.stop)
            grader = training_grader(experiment.task, experiment.renderer.chat)
            measured = measure_states(
                session, sampler, experiment.renderer, grader, batch, credit, asked, self._sampling, self._arm.seed
            )
            name = f"{self._conduct.writer.manifest.run_id}-{self._arm.name}-measured"
            found = directions(session, self._policy, self._plan.optimizer, batch, measured, name)
        tables = {"state_values": records.state_value_columns(batch.step, measured)}
        if found is not None:
            tables["update_directions"] = records.direction_columns(batch.step, found)
        return tables

    @property
    def _sampling(self) -> SamplingSettings:
        rollout = self._plan.rollout
        return SamplingSettings(rollout.temperature, rollout.max_tokens, rollout.group_size, self._loss.top_k)

    def _sample(self, log: PhaseLog, step: int, prompts: Sequence[Prompt]) -> tuple[RolloutBatch, Any]:
        experiment, rollout = self._experiment, self._plan.rollout
        with log.timed("checkpoint"):
            doing = f"{self._arm.name}, step {step}: publishing the weights to sample from"
            published = self._backend.submit(doing, self._policy.client.save_weights_and_get_sampling_client)
            sampler = self._backend.wait(doing, published)
        if step > 0 and evaluation.is_curve_point(experiment.curve, step, experiment.steps):
            point = self._checkpoint(evaluation.step_checkpoint(step))
            evaluate_checkpoint(experiment, self._backend, point, experiment.curve_items, lambda: sampler, log)
        with log.timed("sample"):
            batch = sample_batch(
                self._backend.stopping_on(self._conduct.stop),
                sampler,
                experiment.renderer,
                training_grader(experiment.task, experiment.renderer.chat),
                prompts,
                self._sampling,
                seed=self._arm.seed,
                step=step,
                sampler_version=f"optim_step={step * rollout.updates_per_batch}",
            )
        return batch, sampler

    def _save(self, step: int) -> None:
        slot = self._states.next_slot
        name = f"{self._conduct.writer.manifest.run_id}-{self._arm.name}-{'ab'[slot]}"
        path = save_state(self._backend, self._policy, name)
        if self._critic is not None:
            save_critic(self._conduct.writer.run, self._arm.condition, self._arm.seed, slot, self._critic)
        self._states.add(SavedState(step, path, slot))
        self._saved_step = step

    def _report(self, batch: RolloutBatch, updates: Sequence[Update], log: PhaseLog) -> StepReport:
        done = batch.step + 1 - self._first
        mean_seconds = (time.monotonic() - self._begun) / done
        return StepReport(
            arm=self._arm.name,
            step=batch.step,
            steps=self._experiment.steps,
            reward=batch.mean_reward,
            masked_share=updates[-1].n_hidden / updates[-1].n_loss_tokens,
            surprisal=batch.mean_surprisal,
            mean_tokens=batch.n_tokens / len(batch.samples),
            truncated_share=batch.truncated_share,
            seconds=log.seconds,
            tokens_per_second=batch.n_tokens / max(log.seconds, 1e-9),
            seconds_left=mean_seconds * (self._experiment.steps - batch.step - 1),
            budget_used=self._conduct.budget.share_used,
        )

    def _checkpoint(self, name: str) -> Checkpoint:
        return Checkpoint(self._arm.condition, self._arm.seed, name)

    def _evaluate_final(self) -> None:
        self._may_go_on("evaluation")
        experiment, backend = self._experiment, self._backend

        @functools.cache
        def sampler() -> Any:
            name = f"{self._conduct.writer.manifest.run_id}-{self._arm.name}-final"
            path = save_for_sampling(backend, self._policy, name)
            entry = {**self._checkpoint(evaluation.FINAL_CHECKPOINT)._asdict(), "path": path}
            entry["checkpoint"] = entry.pop("name")
            self._conduct.note_executed("checkpoints", entry, identity=("arm", "seed", "checkpoint"))
            return open_sampler(backend, model_path=path)

        if experiment.curve:
            last = self._checkpoint(evaluation.step_checkpoint(experiment.steps))
            evaluate_checkpoint(experiment, backend, last, experiment.curve_items, sampler)
        final = self._checkpoint(evaluation.FINAL_CHECKPOINT)
        evaluate_checkpoint(experiment, backend, final, experiment.items, sampler)
