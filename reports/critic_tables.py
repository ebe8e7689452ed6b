"""The tables on critics, the same on the page and in the terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reports.critic_words import GAP, NAME_LIMIT, left_text, parts_of, shown
from reports.display import count, number, text
from reports.parts import Column, Table

if TYPE_CHECKING:
    from audits.engine.critic import CriticArm


def critic_tables(arms: "Sequence[CriticArm]") -> tuple[Table, ...]:
    """Return what was measured of arms: errors, their parts, the critics' own values, and every training seed."""
    measured = [arm for arm in arms if arm.measured.advantages is not None]
    valued = [arm for arm in measured if arm.measured.values is not None]
    made = (
        _table("Advantages before the normalisation against fresh rollouts, in units of reward", _ERRORS,
               [_error_cells(arm) for arm in measured]),
        _table("MSE = offset² + scale + residual, and what the arm's normalisation leaves of it", _PARTS,
               [_part_cells(arm) for arm in measured]),
        _table("The critic's own values against fresh rollouts, in units of reward", _VALUES,
               [_value_cells(arm) for arm in valued]),
        _table("By training seed", _SEEDS, [cells for arm in arms for cells in _seed_cells(arm)]),
    )  # fmt: skip
    return tuple(table for table in made if table.rows)


_ERRORS = (
    "Arm", "Parameters", "States", "Batches", "Bias", "MAE", "RMSE", "RMSE without offset", "Correlation", "Slope"
)  # fmt: skip
_PARTS = ("Arm", "MSE", "Offset²", "Scale", "Residual", "Noise taken out", "Cosine", "Root of what is left")
_VALUES = ("Arm", "Bias", "MAE", "RMSE", "Correlation", "Slope", "Offset²", "Scale", "Residual", "Noise taken out")
_SEEDS = ("Arm", "Seed", "Parameters", "Accuracy", "Sampled tokens", "Updates", "MSE", "Residual", "Cosine")


def _table(caption: str, names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(caption, tuple(Column(name, numeric=place > 0) for place, name in enumerate(names)), tuple(rows))


def _error_cells(arm: "CriticArm") -> tuple[str, ...]:
    error = arm.measured.advantages
    assert error is not None
    return (
        text(arm.arm, NAME_LIMIT),
        _counted(arm.parameters),
        count(error.states),
        count(error.batches),
        *map(shown, (error.bias, error.mean_absolute, error.root_mean_squared, error.centered_root_mean_squared)),
        *map(shown, (error.correlation, error.slope)),
    )


def _part_cells(arm: "CriticArm") -> tuple[str, ...]:
    error = arm.measured.advantages
    assert error is not None
    return (
        text(arm.arm, NAME_LIMIT),
        *parts_of(error),
        shown(error.noise),
        shown(arm.measured.cosine),
        left_text(arm),
    )


def _value_cells(arm: "CriticArm") -> tuple[str, ...]:
    error = arm.measured.values
    assert error is not None
    figures = (error.bias, error.mean_absolute, error.root_mean_squared, error.correlation, error.slope)
    return (text(arm.arm, NAME_LIMIT), *map(shown, figures), *parts_of(error)[1:], shown(error.noise))


def _seed_cells(arm: "CriticArm") -> Iterator[tuple[str, ...]]:
    for own in arm.seeds:
        error = own.measured.advantages
        whole, _, _, residual = (GAP,) * 4 if error is None else parts_of(error)
        yield (
            text(arm.arm, NAME_LIMIT),
            str(own.seed),
            _counted(own.parameters),
            GAP if own.accuracy is None else number(own.accuracy, 4),
            _counted(own.sampled_tokens),
            _counted(own.optimizer_updates),
            whole,
            residual,
            shown(own.measured.cosine),
        )


def _counted(value: int | None) -> str:
    return GAP if value is None else count(value)
