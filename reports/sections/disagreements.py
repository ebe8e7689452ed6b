"""Disagreements: the items by who is right, and both arms' answers to them side by side."""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from audits.engine.disagreements import KEPT_CONCORDANT, KEPT_DISCORDANT
from reports.display import LABEL_LIMIT, block, command, count, number, text
from reports.parts import Column, Command, ReportInputs, Section, Table

if TYPE_CHECKING:
    from audits.engine.disagreements import Answer, Cell, Disagreements, ItemPair, LongText

ORDER = 60

BYTES_OF_ITEMS = 80_000
"""What all items together may take of the page; what does not fit is left out with its count."""

_MARKUP = 700
_SHARES = {"only_treatment": 0.42, "only_baseline": 0.42}
_OTHER_SHARE = 0.08
_COLUMNS = (
    Column("Result"),
    Column("Items", numeric=True),
    Column("Share of items", numeric=True),
    Column("Shown below", numeric=True),
)
_SIGNS = {1.0: "✓ right", 0.0: "✕ wrong"}
_UNPAIRED = " No rule was applied to them, and items that only one arm answered are not among them."
_NOT_LOGGED = "not logged"
_WITHHELD = "left out by --redact"


@dataclass(frozen=True)
class AnswerView:
    """One arm's answer as it is shown."""

    arm: str
    result: str
    extracted: str
    ended: str
    completion: str


@dataclass(frozen=True)
class ItemView:
    """One item as it is shown."""

    item_id: str
    question: str
    gold: str
    answers: tuple[AnswerView, AnswerView]


@dataclass(frozen=True)
class ItemGroup:
    """The shown items of one cell."""

    id: str
    title: str
    items: tuple[ItemView, ...]


@dataclass(frozen=True)
class DisagreementsSection(Section):
    """Counts, and the items behind them.

    Attributes:
        groups: the cells of which items are shown.
    """

    groups: tuple[ItemGroup, ...] = ()


def build(inputs: ReportInputs) -> DisagreementsSection:
    """Return the section of disagreements."""
    found = inputs.disagreements
    if found is None:
        return DisagreementsSection(
            id="disagreements",
            title="Disagreements",
            takeaway="No final answers of one treatment and one baseline arm stand side by side here, so that no item "
            "can be shown on which they differ.",
            commands=(
                Command(
                    "disagreements-command",
                    "the final scores that were logged",
                    command("audit", "sql", inputs.run, "SELECT * FROM final_item_scores"),
                ),
            ),
        )
    titles = _titles(found)
    shown = _shown(found, inputs.redacted)
    return DisagreementsSection(
        id="disagreements",
        title="Disagreements",
        takeaway=_takeaway(found) + ("" if inputs.decision is not None else _UNPAIRED),
        tables=(_counts(found, titles, shown),),
        commands=(Command("disagreements-command", "every item, disagreements first", _again(inputs.run, found)),),
        notes=tuple(_notes(found, shown, inputs.redacted)),
        groups=tuple(
            ItemGroup(f"disagreements-{index}", _group_title(titles[cell], len(items), found.counts[cell]), items)
            for index, (cell, items) in enumerate(shown.items())
            if items
        ),
    )


def _again(run: str, found: "Disagreements") -> str:
    return command("audit", "sql", run, found.sql, "--format", "csv")


def _names(found: "Disagreements") -> tuple[str, str]:
    return text(found.treatment, 40) or "treatment", text(found.baseline, 40) or "baseline"


def _titles(found: "Disagreements") -> "dict[Cell, str]":
    treatment, baseline = _names(found)
    if not found.right_or_wrong:
        return {
            "only_treatment": f"{treatment} scores higher",
            "only_baseline": f"{baseline} scores higher",
            "alike": "both score the same",
        }
    return {
        "only_treatment": f"only {treatment} right",
        "only_baseline": f"only {baseline} right",
        "both": "both right",
        "neither": "neither right",
    }


def _takeaway(found: "Disagreements") -> str:
    treatment, baseline = _names(found)
    gained, lost = found.counts["only_treatment"], found.counts["only_baseline"]
    differing, total = gained + lost, found.n_items
    verb = "answer" if found.right_or_wrong else "score on"
    if not differing:
        same = "both right or both wrong" if found.right_or_wrong else "with the same score"
        return f"{treatment} and {baseline} {verb} all {count(total)} items alike: {same}."
    share = f"{number(100 * differing / total, 1)} %"
    what = "only {} is right on" if found.right_or_wrong else "{} scores higher on"
    first, second = what.format(treatment), what.format(baseline)
    sentence = (
        f"{treatment} and {baseline} {verb} {count(differing)} of {count(total)} items differently ({share}): "
        f"{first} {count(gained)}, {second} {count(lost)}."
    )
    if found.mcnemar_exact is None:
        return sentence
    return f"{sentence} Exact McNemar test of equal chances: p {_p_value(found.mcnemar_exact)}; it decides nothing."


def _p_value(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"= {number(value, 4)}"


def _counts(
    found: "Disagreements", titles: "Mapping[Cell, str]", shown: "Mapping[Cell, tuple[ItemView, ...]]"
) -> Table:
    total = found.n_items
    return Table(
        caption=f"{count(total)} items by who is right" if found.right_or_wrong else f"{count(total)} items by score",
        columns=_COLUMNS,
        rows=tuple(
            (titles[cell], count(n), f"{number(100 * n / total, 1)} %", count(len(shown[cell])))
            for cell, n in found.counts.items()
        ),
    )


def _group_title(title: str, shown: int, total: int) -> str:
    part = f"all {count(total)} items" if shown == total else f"{count(shown)} of {count(total)} items"
    return f"{title[:1].upper()}{title[1:]}: {part if total > 1 else '1 item'}"


def _shown(found: "Disagreements", redacted: bool) -> "dict[Cell, tuple[ItemView, ...]]":
    """Return the items of each cell that fit on the page; none where nothing stands behind an item's score."""
    shown: dict[Cell, tuple[ItemView, ...]] = {}
    told = any(_told(pair) for pair in found.items)
    spare = 0.0
    for cell in found.counts:
        room = spare + BYTES_OF_ITEMS * _SHARES.get(cell, _OTHER_SHARE)
        views = []
        for pair in found.items if told else ():
            if pair.cell != cell:
                continue
            view = _view(found, pair, redacted)
            room -= _MARKUP + sum(len(html.escape(part).encode()) for part in _strings(view))
            if room < 0:
                break
            views.append(view)
        shown[cell] = tuple(sorted(views, key=lambda view: view.item_id))
        spare = max(0.0, room)
    return shown


def _told(pair: "ItemPair") -> bool:
    answers = (pair.treatment, pair.baseline)
    return pair.question is not None or any(
        value is not None
        for answer in answers
        for value in (answer.completion, answer.extracted, answer.stop_reason, answer.n_tokens)
    )


def _strings(view: object) -> Iterator[str]:
    for field in fields(view) if is_dataclass(view) and not isinstance(view, type) else ():
        value = getattr(view, field.name)
        if isinstance(value, str):
            yield value
        else:
            for item in value:
                yield from _strings(item)


def _view(found: "Disagreements", pair: "ItemPair", redacted: bool) -> ItemView:
    treatment, baseline = _names(found)
    return ItemView(
        item_id=text(pair.item_id, 120),
        question=_long(pair.question, redacted),
        gold=_short(pair.gold, redacted),
        answers=(_answer(treatment, pair.treatment, redacted), _answer(baseline, pair.baseline, redacted)),
    )


def _answer(arm: str, answer: "Answer", redacted: bool) -> AnswerView:
    tokens = None if answer.n_tokens is None else f"{count(answer.n_tokens)} tokens"
    stopped = None if answer.stop_reason is None else f"ended by {text(answer.stop_reason, LABEL_LIMIT)}"
    found = None if answer.extraction is None else f"answer found by {text(answer.extraction, LABEL_LIMIT)}"
    mean = None if answer.samples == 1 else f"the first of {count(answer.samples)} samples"
    return AnswerView(
        arm=arm,
        result=_SIGNS.get(answer.score) or f"scores {number(answer.score, 3)}",
        extracted=_short(answer.extracted, redacted),
        ended=", ".join(part for part in (stopped, tokens, found, mean) if part is not None) or _NOT_LOGGED,
        completion=_long(answer.completion, redacted),
    )


def _short(value: "LongText | None", redacted: bool) -> str:
    if redacted:
        return _WITHHELD
    return _NOT_LOGGED if value is None else text(value.head, 80) or "empty"


def _long(value: "LongText | None", redacted: bool) -> str:
    if redacted:
        return _WITHHELD
    if value is None:
        return _NOT_LOGGED
    if not value.left_out:
        return block(value.head) or "empty"
    return f"{block(value.head)}\n… {count(value.left_out)} characters left out …\n{block(value.tail)}"


def _seeds(n: int) -> str:
    return "1 training seed" if n == 1 else f"{count(n)} training seeds"


def _notes(found: "Disagreements", shown: "Mapping[Cell, tuple[ItemView, ...]]", redacted: bool) -> Iterator[str]:
    if redacted:
        yield (
            "Made with --redact: questions, gold answers, completions and the answers found in them are left out; item "
            "ids stay. The command lists everything for whoever has the run."
        )
    items = sum(len(views) for views in shown.values())
    if found.n_items > items:
        left_out = f"{count(found.n_items - items)} of {count(found.n_items)} items are left out of the page"
        why = (
            f", which has room for {KEPT_DISCORDANT} items of a cell in which the arms differ, {KEPT_CONCORDANT} of "
            f"one in which they do not, and {BYTES_OF_ITEMS // 1000} kB of them together. Within a cell the choice is "
            "by the md5 of the id, which no outcome moves"
            if items
            else ": behind their scores neither completions nor questions were logged"
        )
        yield f"{left_out}{why}. The command lists all."
    if items and not redacted:
        yield "Of a long text the beginning and the end are shown, with the number of characters between them."
    several = len(found.seeds) > 1 or found.most_samples > 1
    if several:
        yield (
            f"An arm's score of an item is its mean over {_seeds(len(found.seeds))} and all samples, as the decision "
            "rule takes it. The text is the first sample of the lowest seed."
        )
    if not found.right_or_wrong:
        yield "Scores are not only right or wrong, so that there is no McNemar test: an item goes to the higher score."
