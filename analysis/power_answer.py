"""An answer about power: the settings that were asked about, what they can show, and where the figures come from."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.power_study import Row, Setting


@dataclass(frozen=True)
class Observed:
    """The discordance that a run showed.

    Attributes:
        run: the run.
        discordant: items that exactly one arm has right.
        n_items: all items.
        low: lower end of its exact 95 % interval (Clopper and Pearson 1934).
        high: upper end.
    """

    run: str
    discordant: int
    n_items: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The observed discordance."""
        return self.discordant / self.n_items


@dataclass(frozen=True)
class Study:
    """One setting with its rows, one a discordance.

    Attributes:
        setting: method and rule.
        rows: what holds at each discordance.
        criterion: where the rule stands in the plan; None where no plan was given.
    """

    setting: Setting
    rows: Sequence[Row]
    criterion: str | None = None

    @property
    def computation(self) -> str:
        """How the figures were computed."""
        if self.setting.method.info.seed == "always":
            return f"enumerated under seed {self.setting.seed}; the border of the drawn orders may be off by a table"
        return "enumerated exactly"


@dataclass(frozen=True)
class PowerAnswer:
    """All studies, the observed discordance where a run was given, and what a reader must know."""

    studies: tuple[Study, ...]
    observed: Observed | None
    notes: tuple[str, ...]
