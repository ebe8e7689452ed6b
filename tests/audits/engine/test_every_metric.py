"""Every file of sql/metrics, found by walking the folder."""

import re

import pytest
from made_run import write_run

from analysis.errors import AuditError
from audits.engine.measure import measure
from audits.engine.metric import load_metric, metric_ids, parse_metric
from audits.engine.request import Request
from audits.store.reader import open_run
from audits.store.schema import SQL_FOLDER, tables

METRICS = tuple(metric_id.replace("NN", "90") for metric_id in metric_ids())
PARAMETERS = {
    "divergence": "binary_tv", "delta": "0.15", "topk_divergence": "topk_tv", "topk_delta": "0.15", "eps": "0.2",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return open_run(write_run(tmp_path_factory.mktemp("metrics") / "run"))


@pytest.mark.parametrize("metric_id", METRICS)
def test_the_header_says_all_that_a_reader_needs(metric_id):
    metric = load_metric(metric_id)
    header = metric.header
    assert metric.over in {"mean_of_steps", "pooled", "every_step"}
    assert header["arm"] in {"treatment", "baseline", "all"}
    assert re.fullmatch(r"[a-z0-9_{}]+@(sampler|log)/[a-z_]+", header["definition"])
    assert all(len(header[name]) > 2 for name in ("name", "unit", "denominator", "source"))
    if metric.source == "loss_tokens":
        assert "sampler" in header["anchor"]
        assert metric.default_update is not None or "all updates" in header["denominator"] or metric.quantile
        assert {"scale", "sign", "zero advantage"} <= set(header)
    if metric.is_share:
        assert {"sign", "zero advantage"} <= set(header)
        assert metric.captions["beside"]
        assert metric.captions["reach"]


@pytest.mark.parametrize("metric_id", METRICS)
def test_the_needed_columns_are_in_the_schema(metric_id):
    for name in load_metric(metric_id).needs:
        table, column = name.split(".")
        assert column in {found.name for found in tables()[table].columns}


@pytest.mark.parametrize("metric_id", METRICS)
def test_the_header_names_the_parameters_that_the_sql_uses(metric_id):
    metric = load_metric(metric_id)
    assert all(name in metric.header["parameters"] for name in metric.parameters)


@pytest.mark.parametrize("metric_id", METRICS)
def test_no_row_gives_no_value(run, metric_id):
    metric = load_metric(metric_id)
    found = measure(run, Request(metric, PARAMETERS, "nobody", metric.default_update))
    assert (found.value, found.rows, found.denominator, found.steps) == (None, 0, 0, ())


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(AuditError, match='did you mean "grpo_clip_fraction"'):
        load_metric("grpo_clipp_fraction")


def test_a_missing_parameter_is_an_error_that_says_what_to_do():
    metric = load_metric("grpo_clip_fraction")
    with pytest.raises(AuditError, match="needs eps"):
        metric.fill(metric.blocks["partials"], {})


GOOD = (SQL_FOLDER / "metrics" / "grpo_clip_fraction.sql").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("-- unit: share\n", ""), "lacks unit"),
        (GOOD.replace("-- finish:\n", ""), "needs finish"),
        ("SELECT 1\n" + GOOD, "before the first block"),
        (GOOD + "-- values:\n1\n", "either partials or values"),
    ],
)
def test_a_metric_file_that_lacks_something_is_our_bug_and_says_what(text, said):
    with pytest.raises(ValueError, match=said):
        parse_metric("x", text)


def test_an_unknown_way_over_steps_is_our_bug():
    with pytest.raises(ValueError, match="over is 'median'"):
        parse_metric("x", GOOD.replace("over: mean_of_steps", "over: median")).over  # noqa: B018
