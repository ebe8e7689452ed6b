"""A metric: one file in `sql/metrics/`, its header and its blocks of SQL."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from analysis.errors import AuditError
from analysis.nearest import hint
from audits.store.schema import SQL_FOLDER

_LABEL = re.compile(r"^-- ([a-z ]+):\s*(.*)$")
_BLOCKS = frozenset({"partials", "finish", "values", "beside", "reach"})
_OVER = ("mean_of_steps", "pooled", "every_step")


@dataclass(frozen=True)
class Metric:
    """A metric as its file states it.

    Attributes:
        id: the file's name.
        header: every header line by its label.
        blocks: SQL of each block: `partials` (or `values`, for quantiles) and `finish`; `beside` and `reach` may
            stand with them.
        captions: what stands behind a block's label, a description of its figure.
    """

    id: str
    header: Mapping[str, str]
    blocks: Mapping[str, str]
    captions: Mapping[str, str]

    @property
    def source(self) -> str:
        """Table or view that the metric reads."""
        return self.header["from"]

    @property
    def table(self) -> str:
        """Table of the run format that must have been logged."""
        return self.needs[0].split(".")[0]

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that the metric reads, as `table.column`."""
        return tuple(name.strip() for name in self.header["needs"].split(","))

    @property
    def over(self) -> Literal["mean_of_steps", "pooled", "every_step"]:
        """How steps are aggregated."""
        value = self.header["over"]
        for known in _OVER:
            if value == known:
                return known  # type: ignore[return-value]  # mypy does not narrow a member of a tuple of literals
        raise ValueError(f"sql/metrics/{self.id}.sql: over is {value!r}, not one of {', '.join(_OVER)}")

    @property
    def is_share(self) -> bool:
        """Whether the figure is numerator over denominator."""
        return "AS numerator" in self.blocks.get("partials", "")

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the loss parameters that its SQL needs."""
        return frozenset(re.findall(r"\{(\w+)\}", "".join(self.blocks.values())))

    @property
    def default_update(self) -> int | None:
        """0-based minibatch update that the metric is defined on, None for all."""
        return int(self.header["update"]) if "update" in self.header else None

    def fill(self, text: str, parameters: Mapping[str, str]) -> str:
        """Return a block or caption with the loss's parameters in place of their {names}.

        Raises:
            AuditError: a parameter is missing, because no loss of the plan has it.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name not in parameters:
                raise AuditError(
                    f"metric {self.id} needs {name}, and no loss of the plan has it; "
                    f"take the check out of the gate or add such a loss to an arm"
                )
            return parameters[name]

        return re.sub(r"\{(\w+)\}", value, text)


def metric_ids() -> tuple[str, ...]:
    """Return the ids of all metrics, sorted."""
    return tuple(sorted(path.stem for path in (SQL_FOLDER / "metrics").glob("*.sql")))


def load_metric(metric_id: str) -> Metric:
    """Return the metric with this id.

    Raises:
        AuditError: there is no such metric; the message names the nearest one.
    """
    known = metric_ids()
    if metric_id not in known:
        raise AuditError(f'there is no metric "{metric_id}"{hint(metric_id, known)}')
    return parse_metric(metric_id, (SQL_FOLDER / "metrics" / f"{metric_id}.sql").read_text(encoding="utf-8"))


def parse_metric(metric_id: str, text: str) -> Metric:
    """Split a metric file into its header and its blocks.

    Raises:
        ValueError: a header line is missing, or neither `partials` nor `values` stands there.
    """
    header: dict[str, str] = {}
    blocks: dict[str, list[str]] = {}
    captions: dict[str, str] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label is None:
            if current is None:
                raise ValueError(f"sql/metrics/{metric_id}.sql: SQL before the first block: {line!r}")
            current.append(line)
        elif label[1] in _BLOCKS:
            current = blocks.setdefault(label[1], [])
            captions[label[1]] = label[2]
        else:
            header[label[1]] = label[2]
    missing = {"name", "unit", "definition", "denominator", "from", "needs", "arm", "over", "source"} - set(header)
    if missing:
        raise ValueError(f"sql/metrics/{metric_id}.sql: the header lacks {', '.join(sorted(missing))}")
    if "finish" not in blocks or ("partials" in blocks) == ("values" in blocks):
        raise ValueError(f"sql/metrics/{metric_id}.sql: needs finish, and either partials or values")
    return Metric(metric_id, header, {name: "\n".join(lines).strip() for name, lines in blocks.items()}, captions)
