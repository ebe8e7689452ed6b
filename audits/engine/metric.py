"""A metric: one file in `sql/metrics/`, its header and its blocks of SQL."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from analysis.errors import AuditError
from analysis.nearest import hint
from audits.store.schema import SQL_FOLDER

_LABEL = re.compile(r"^-- ([a-z ]+):\s*(.*)$")
_BLOCKS = frozenset({"counted", "candidates", "partials", "finish", "values", "beside", "reach"})
_OVER = ("mean_of_steps", "pooled", "every_step")
_PARTIAL = re.compile(r"(?s)(.+?)\s+AS\s+(\w+)\s*(?:,\s*\n|,?\s*$)")
# Not q100: it reads as the maximum, and as a tenth. Three digits or more never end in 0.
_QUANTILE = re.compile(r"(\w+_q)(\d{2}|\d{2,3}[1-9])", re.ASCII)
QUANTILE_FAMILY = "_qNN"
"""How the file of a quantile ends: `ratio_qNN.sql` answers `ratio_q50`, `ratio_q90`, `ratio_q999`."""


@dataclass(frozen=True)
class Watch:
    """What an unexpected movement of a metric over steps is.

    Attributes:
        direction: `rises`, `falls` or `moves`.
        by: the smallest movement worth a warning, in the metric's unit.
        in_gate: whether `audit gate` watches it too.
        above: a value above which it deserves a warning without any movement, None for none.
    """

    direction: Literal["rises", "falls", "moves"]
    by: float
    in_gate: bool
    above: float | None = None


@dataclass(frozen=True)
class Metric:
    """A metric as its file states it.

    Attributes:
        id: the file's name; of a quantile, with its number: `ratio_q90`.
        header: every header line by its label.
        blocks: SQL of each block. `finish` with `partials` (they merge over files), or `values` for a quantile;
            `counted` is the condition of the numerator, `candidates` of the rows that it is drawn from, `beside` a
            second figure, `reach` the largest value that the rule compares with its threshold.
        captions: what stands behind a block's label, a description of its figure.
        quantile: the order of the quantile, 0 to 1; None for any other metric.
    """

    id: str
    header: Mapping[str, str]
    blocks: Mapping[str, str]
    captions: Mapping[str, str]
    quantile: float | None = field(default=None)

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
        return "numerator" in dict(self.partials)

    @property
    def partials(self) -> tuple[tuple[str, str], ...]:
        """Name and SQL of each partial: what is computed of a file and merges with that of other files."""
        text = self.blocks.get("partials", "")
        return tuple((name, expression.strip()) for expression, name in _PARTIAL.findall(text))

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters that its SQL needs."""
        return frozenset(re.findall(r"\{(\w+)\}", "".join(self.blocks.values()))) - {"counted", "candidates"}

    @property
    def default_update(self) -> int | None:
        """0-based minibatch update that the metric is defined on, None for all."""
        return int(self.header["update"]) if "update" in self.header else None

    @property
    def watch(self) -> Watch | None:
        """What movement over steps deserves a warning; None where a movement is nothing unexpected."""
        if "watch" not in self.header:
            return None
        match = re.fullmatch(r"(rises|falls|moves) by ([0-9.e-]+)(, in the gate too)?", self.header["watch"])
        if match is None:
            raise ValueError(f"sql/metrics/{self.id}.sql: watch is {self.header['watch']!r}, not `rises by 0.001`")
        above = self.header.get("warn above")
        return Watch(
            match[1],  # type: ignore[arg-type]  # the pattern has no other words
            float(match[2]),
            match[3] is not None,
            float(above) if above is not None else None,
        )

    def fill(self, text: str, parameters: Mapping[str, str]) -> str:
        """Return a block or caption with the parameters in place of their {names}.

        Raises:
            AuditError: a parameter is missing, because no loss of the plan has it.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name in ("counted", "candidates"):
                return f"({self.fill(self.blocks[name], parameters)})"
            if name not in parameters:
                raise AuditError(
                    f"metric {self.id} needs {name}, and no loss of the plan has it: {self.header['parameters']}; "
                    f"take the check out of the gate or add such a loss to an arm"
                )
            return parameters[name]

        return re.sub(r"\{(\w+)\}", value, text)


def metric_ids() -> tuple[str, ...]:
    """Return the ids of all metrics, sorted; a quantile of any order has one id, which ends in `_qNN`."""
    return tuple(sorted(path.stem for path in (SQL_FOLDER / "metrics").glob("*.sql")))


def load_metric(metric_id: str) -> Metric:
    """Return the metric with this id; `ratio_q90` and `ratio_q999` are quantiles of order 0.9 and 0.999.

    Raises:
        AuditError: there is no such metric; the message names the nearest one.
    """
    known, quantile = metric_ids(), _QUANTILE.fullmatch(metric_id)
    family = f"{quantile[1]}NN" if quantile else metric_id
    if family not in known or metric_id.endswith(QUANTILE_FAMILY):
        nearest = hint(metric_id, known)
        digits = f"; {QUANTILE_FAMILY} is an order in digits: _q05, _q50, _q999" if QUANTILE_FAMILY in nearest else ""
        raise AuditError(f'there is no metric "{metric_id}"{nearest}{digits}')
    text = (SQL_FOLDER / "metrics" / f"{family}.sql").read_text(encoding="utf-8")
    return parse_metric(metric_id, text, float(f"0.{quantile[2]}") if quantile else None)


def parse_metric(metric_id: str, text: str, quantile: float | None = None) -> Metric:
    """Split a metric file into its header and its blocks.

    Args:
        metric_id: the metric.
        text: of the file; NN stands for the digits of the quantile, {q} for its order.
        quantile: order of the quantile, None where the file is not of a quantile.

    Raises:
        ValueError: a header line is missing, or neither `partials` nor `values` stands there.
    """
    if quantile is not None:
        text = text.replace("NN", metric_id.rsplit("_q", 1)[1]).replace("{q}", repr(quantile))
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
    if ("values" in blocks) != (quantile is not None):
        raise ValueError(f"sql/metrics/{metric_id}.sql: values belong to a quantile, and its file ends in _qNN.sql")
    texts = {name: "\n".join(lines).strip() for name, lines in blocks.items()}
    return Metric(metric_id, header, texts, captions, quantile)
