"""Writes a tinker-cookbook log directory with the cookbook's own writers: two steps, one of them logged twice."""

REWARDS = {0: [[1.0, 0.0, -0.1], [1.0, 1.0, 1.0]], 1: [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]}


def write_log(folder):
    """Write config, metrics with a resumed step, checkpoints and rollout summaries; needs tinker-cookbook."""
    from tinker_cookbook.checkpoint_utils import CheckpointRecord
    from tinker_cookbook.stores.storage import LocalStorage
    from tinker_cookbook.stores.training_store import TrainingRunStore
    from tinker_cookbook.utils.ml_log import dump_config

    store = TrainingRunStore(LocalStorage(folder))
    store.write_config(dump_config(_config()))
    for step, correct in ((0, 0.5), (1, 0.25), (1, 1 / 3)):
        done = {"progress/batch": step, "optim/lr": 1e-4, "progress/done_frac": (step + 1) / 4}
        store.write_metrics(done | {"env/all/correct": correct, "env/all/by_group/frac_mixed": 0.5}, step=step)
    store.write_metrics({"tokens/total": 12})
    store.write_checkpoint(CheckpointRecord(name="000001", batch=1, state_path="tinker://x/weights/1").to_dict())
    for step, groups in REWARDS.items():
        store.write_rollouts(step, _summaries(step, groups))


def _config():
    from tinker_cookbook.recipes.math_rl.arithmetic_env import ArithmeticDatasetBuilder
    from tinker_cookbook.rl.train import Config

    builder = ArithmeticDatasetBuilder(
        batch_size=2, model_name_for_tokenizer="base", renderer_name="llama3", n_batches=4, group_size=3
    )
    return Config(
        learning_rate=1e-4, dataset_builder=builder, model_name="base", recipe_name="arithmetic", max_tokens=5,
        log_path="log",
    )  # fmt: skip


def _summaries(step, groups):
    from tinker import ModelInput
    from tinker_cookbook.completers import TokensWithLogprobs
    from tinker_cookbook.rl.rollout_logging import serialize_rollout_summaries
    from tinker_cookbook.rl.types import Trajectory, TrajectoryGroup, Transition

    def trajectory(number):
        action = TokensWithLogprobs(tokens=[7] * (number + 1), maybe_logprobs=[-0.5] * (number + 1))
        turn = Transition(ob=ModelInput.from_ints([1, 2]), ac=action, reward=0.0, episode_done=True)
        return Trajectory(transitions=[turn], final_ob=ModelInput.from_ints([]))

    made = [
        TrajectoryGroup([trajectory(number) for number in range(len(rewards))], rewards, [{} for _ in rewards])
        for rewards in groups
    ]
    return serialize_rollout_summaries(
        split="train", iteration=step, trajectory_groups_P=made, taglist_P=[["arithmetic"]] * len(made),
        sampling_client_steps_P=[step] * len(made),
    )  # fmt: skip
