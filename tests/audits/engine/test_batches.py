"""The figures do not depend on how the rows are cut into batches and files."""

import hashlib
import math
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_metrics import EPS
from random_run import random_run

from audits.engine.batches import batches
from audits.engine.executors import LOCAL, Engine
from audits.engine.measure import measure_all
from audits.engine.metric import load_metric, metric_ids
from audits.engine.request import Request
from audits.store.manifest import FileRecord
from audits.store.reader import open_run
from audits.store.scan import scanner
from audits.store.schema import FORMAT_VERSION

PARAMETERS = {
    "divergence": "binary_kl", "delta": "0.05", "topk_divergence": "topk_kl", "topk_delta": "0.05", "eps": repr(EPS),
}  # fmt: skip
IDS = [metric_id.replace("NN", digits) for metric_id in metric_ids() for digits in ("90", "999") if "NN" in metric_id]
IDS += [metric_id for metric_id in metric_ids() if "NN" not in metric_id]


@pytest.fixture(scope="module")
def open_scanner():
    with scanner() as found:
        yield found


@pytest.fixture(autouse=True)
def _one_connection(monkeypatch, open_scanner):
    """Opening the connection is most of a scan of few rows."""
    monkeypatch.setattr("audits.engine.executors.local.scanner", lambda: nullcontext(open_scanner))


def requests():
    metrics = [load_metric(metric_id) for metric_id in IDS]
    found = [
        Request(metric, PARAMETERS, arm, metric.default_update, with_reach=metric.is_share)
        for metric in metrics
        for arm in ("dppo", "grpo")
    ]
    return found + [Request(m, PARAMETERS, "dppo", by_update=True) for m in metrics if m.table == "tokens"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a random run, its rows, and what is measured of it in one batch an arm and seed."""
    path = tmp_path_factory.mktemp("batches") / "run"
    rows = random_run(path, 11)
    return path, rows, measure_all(open_run(path), requests(), LOCAL)


def assert_same(found, wanted):
    for mine, other in zip(found, wanted, strict=True):
        for name in ("numerator", "denominator", "rows", "invalid", "sql"):
            assert getattr(mine, name) == getattr(other, name), (name, mine.sql)
        assert (mine.value, mine.beside, mine.reach) == tuple(map(near, (other.value, other.beside, other.reach)))
        assert [(s.seed, s.value) for s in mine.seeds] == [(s.seed, near(s.value)) for s in other.seeds]
        assert [(s.seed, s.step, s.update, s.numerator, s.denominator, s.value) for s in mine.steps] == [
            (s.seed, s.step, s.update, s.numerator, s.denominator, near(s.value)) for s in other.steps
        ]


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-14) if isinstance(value, float) else value


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_the_size_of_a_batch_changes_no_figure(made, rows):
    path, _, wanted = made
    assert_same(measure_all(open_run(path), requests(), Engine(rows_a_batch=rows)), wanted)


def test_each_request_alone_gives_what_all_together_give(made):
    path, _, wanted = made
    run = open_run(path)
    chosen = slice(0, len(wanted), 5)
    assert_same([measure_all(run, [request])[0] for request in requests()[chosen]], wanted[chosen])


@settings(
    max_examples=3, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(number=st.integers(0, 10**6), files=st.integers(1, 4), rows_a_batch=st.sampled_from([1, 20, None]))
def test_how_rows_lie_in_files_changes_no_figure(made, tmp_path_factory, number, files, rows_a_batch):
    _, rows, wanted = made
    split = tmp_path_factory.mktemp("split") / "run"
    cut(made[0], split, rows, np.random.default_rng(number), files)
    assert_same(measure_all(open_run(split), requests(), Engine(rows_a_batch=rows_a_batch)), wanted)


def test_the_first_steps_are_the_first_wherever_they_lie(made, tmp_path):
    cut(made[0], tmp_path / "run", made[1], np.random.default_rng(0), 2)
    asked = [Request(load_metric(name), PARAMETERS, "dppo", 0, (1,), 2) for name in ("kl_k1", "ratio_q90")]
    split, whole = (measure_all(open_run(path), asked) for path in (tmp_path / "run", made[0]))
    assert [{(step.seed, step.step) for step in found.steps} for found in split] == [{(1, 0), (1, 1)}] * 2
    assert_same(split, whole)


def cut(whole, split, rows, rng, files):
    """Write the rows of a run again: those of each arm and seed at random over some files that name no step."""
    import shutil

    shutil.copytree(whole, split)
    records = []
    for line in (split / "files.jsonl").read_text().splitlines():
        (split / FileRecord.model_validate_json(line).path).unlink()
    partitions = {}
    for (table, arm, seed, step), columns in rows.items():
        arrow = pq.read_table(
            whole / table / f"arm={arm}" / f"seed={seed}" / f"step={step:06d}.parquet", partitioning=None
        )
        assert arrow.num_rows == len(columns["step"])
        partitions.setdefault((table, arm, seed), []).append(arrow)
    for (table, arm, seed), parts in partitions.items():
        everything = pa.concat_tables(parts)
        home = rng.integers(0, files, everything.num_rows)
        for number in range(files):
            part = everything.filter(pa.array(home == number))
            # A group of rollouts lies in one file or in several; a file may be empty.
            path = f"{table}/arm={arm}/seed={seed}/part-{number}.parquet"
            pq.write_table(part, split / path)
            content = (split / path).read_bytes()
            records.append(
                FileRecord(
                    path=path, table=table, rows=part.num_rows, bytes=len(content),
                    sha256=hashlib.sha256(content).hexdigest(), schema_version=FORMAT_VERSION,
                )
            )  # fmt: skip
    (split / "files.jsonl").write_text("".join(f"{record.model_dump_json()}\n" for record in records))


def record(path, rows):
    return FileRecord(path=path, table="tokens", rows=rows, bytes=1, sha256="0" * 64, schema_version=FORMAT_VERSION)


def paths(found):
    return [[own.path.rsplit("/", 1)[1] for own in batch.records] for batch in found]


def folder(seed=0, arm="a"):
    return f"tokens/arm={arm}/seed={seed}"


def test_a_batch_is_closed_before_it_holds_too_many_rows(tmp_path):
    records = [record(f"{folder()}/step={step}.parquet", 4) for step in range(5)]
    assert paths(batches(tmp_path, "tokens", records, 8)) == [
        ["step=0.parquet", "step=1.parquet"], ["step=2.parquet", "step=3.parquet"], ["step=4.parquet"],
    ]  # fmt: skip
    assert [batch.rows for batch in batches(tmp_path, "tokens", records, 7)] == [4] * 5


def test_a_file_of_too_many_rows_is_a_batch_alone(tmp_path):
    records = [record(f"{folder()}/step={step}.parquet", rows) for step, rows in enumerate([1, 99, 1])]
    assert [len(batch.records) for batch in batches(tmp_path, "tokens", records, 10)] == [1, 1, 1]


def test_arms_and_seeds_never_share_a_batch(tmp_path):
    records = [record(f"{folder(seed, arm)}/step=0.parquet", 1) for arm in "ab" for seed in (0, 1)]
    assert [len(batch.records) for batch in batches(tmp_path, "tokens", records, math.inf)] == [1] * 4


@pytest.mark.parametrize("name", ["part-0", "step=1"])
def test_files_that_may_hold_the_same_step_stay_together(tmp_path, name):
    records = [record(f"{folder()}/step={step:06d}.parquet", 9) for step in range(3)]
    found = list(batches(tmp_path, "tokens", [*records, record(f"{folder()}/{name}.parquet", 9)], 1))
    assert [len(batch.records) for batch in found] == [4]
