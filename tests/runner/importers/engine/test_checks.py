import pytest

from analysis.errors import AuditError
from audits.store.gathered import Scratch
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import check
from runner.importers.engine.imported import Imported, ImportedArm, SourceFile


@pytest.fixture
def arm():
    """Make an arm of two outcomes; columns are replaced by name."""
    with Scratch() as scratch:
        yield lambda *args, **columns: made_arm(scratch, *args, **columns)


def made_arm(scratch, name="a", *, seed=0, settings=None, **columns):
    rows = {"checkpoint": ["final"] * 2, "item_id": ["q1", "q2"], "sample": [0, 0], "score": [1.0, 0.0], **columns}
    record = ArmRecord(arm=name, seed=seed, role="other", name=name, settings=settings or {})
    evals = scratch.rows("evals")
    for values in zip(*rows.values(), strict=True):
        evals.append(dict(zip(rows, values, strict=True)))
    return ImportedArm(record, evals={"final": evals})


def checked(*arms, **rest):
    check(Imported("made", (SourceFile("x.json", "0" * 64, 1),), arms, **rest))


def test_a_sound_source_passes(arm):
    checked(arm("a"), arm("b", score=[None, 0.5], error=["timed out", None]))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"item_id": ["q1", ""]}, "1 row without an item id"),
        ({"item_id": ["q1", "q1"]}, r"1 items stand more than once: q1 \(sample 0, 2 times\)"),
        ({"score": [1.0, None]}, "q2: neither score nor error"),
        ({"score": [1.0, 0.0], "error": ["x", None]}, "q1: score 1.0 and an error too"),
        ({"score": [1.5, float("nan")]}, "2 rows have no score from 0 to 1: q1: score 1.5, q2: score nan"),
    ],
)
def test_a_fault_of_a_row_names_arm_and_item(arm, columns, said):
    with pytest.raises(AuditError, match=f"a, final: .*{said}"):
        checked(arm("a", **columns))


def test_items_that_stand_in_one_arm_only_are_listed(arm):
    with pytest.raises(AuditError, match=r"1 are in both.*only in a .*: q2; .*only in b .*: q3"):
        checked(arm("a"), arm("b", item_id=["q1", "q3"]))


def test_another_gold_for_one_item_means_other_items(arm):
    with pytest.raises(AuditError, match=r"1 items have another gold.*q2 \('4' and '5'\)"):
        checked(arm("a", gold=["3", "4"]), arm("b", gold=["3", "5"]))


@pytest.mark.parametrize("settings", [{"model": "\ud800"}, {"lr": float("nan")}])
def test_a_setting_that_no_json_can_hold_is_refused(arm, settings):
    with pytest.raises(AuditError, match=r"x.json: a setting cannot be written"):
        checked(arm("a", settings=settings))


@pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 200])
def test_a_name_that_no_folder_can_have_is_refused(arm, name):
    with pytest.raises(AuditError, match="no short name"):
        checked(arm(name))


def test_nothing_at_all_is_refused_and_a_plan_with_what_was_done_is_something():
    nothing = ImportedArm(ArmRecord(arm="a", seed=0, role="other", name="a"))
    with pytest.raises(AuditError, match="holds no row"):
        checked(nothing)
    checked(nothing, planned={"rollout.rollout_batches": 3}, executed={"rollout.rollout_batches": 2})
