import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from made_run import evals, made_plan, write_experiment, write_outcomes

HOEFFDING = ("power", "--items", "1319", "--method", "paired_hoeffding")


def _rows(audit, *arguments):
    assert audit("power", *arguments, "--format", "json").code == 0, audit.err
    (study,) = json.loads(audit.out)["studies"]
    return study["rows"]


@pytest.mark.parametrize(
    ("method", "gaps"),
    [
        ("paired_hoeffding", [None, 0.0818, 0.0849, 0.0872]),
        ("paired_empirical_bernstein", [0.0379, 0.0479, 0.0618, 0.0723]),
        ("paired_fay_lumbard", [0.0177, 0.0250, 0.0351, 0.0429]),
        ("paired_tango", [0.0171, 0.0243, 0.0344, 0.0422]),
        ("paired_bonett_price", [0.0172, 0.0243, 0.0345, 0.0422]),
    ],
)
def test_the_gaps_that_each_method_detects_at_1319_items(audit, method, gaps):
    rows = _rows(audit, "--items", "1319", "--method", method)
    assert [row["discordance"] for row in rows] == [0.05, 0.1, 0.2, 0.3]
    for row, gap in zip(rows, gaps, strict=True):
        assert row["detectable_gap"] == (None if gap is None else pytest.approx(gap, abs=1e-4))
        assert (row["detectable_gap_reason"] is None) == (gap is not None)


@pytest.mark.parametrize(("points", "items"), [(0.05, 2952), (0.03, 8198), (0.02, 18445), (0.01, 73778)])
def test_the_items_that_a_half_width_of_hoeffding_needs(audit, points, items):
    (row,) = _rows(audit, *HOEFFDING[1:], "--half-width", points, "--discordance", "0.1")
    assert row["items_for_half_width"] == items
    assert row["half_width"] == pytest.approx(0.0747894, abs=1e-7)


@pytest.mark.parametrize(
    ("method", "bands"), [("paired_hoeffding", [0.0824, 0.0862, 0.0908]), ("paired_tango", [0.0205, 0.0286, 0.0401])]
)
def test_the_bands_that_a_method_certifies(audit, method, bands):
    shares = [word for share in ("0.05", "0.1", "0.2") for word in ("--discordance", share)]
    rows = _rows(audit, "--items", "1319", "--method", method, "--band", "0.02", *shares)
    assert [row["tie"]["smallest_band"] for row in rows] == pytest.approx(bands, abs=1e-4)
    assert rows[2]["tie"]["power"] == pytest.approx(0.0, abs=1e-3)


def test_the_items_for_a_gap_have_the_power_that_was_asked_for(audit):
    asked = ("--method", "paired_tango", "--discordance", "0.1", "--gap", "0.03", "--target", "0.9")
    (row,) = _rows(audit, "--items", "1319", *asked)
    (gap,) = row["gaps"]
    assert gap["power"] == pytest.approx(0.934, abs=2e-3)
    (again,) = _rows(audit, "--items", gap["items"], *asked)
    assert again["gaps"][0]["power"] == pytest.approx(0.9, abs=0.01)
    assert gap["items"] < 1319


def test_a_gap_beyond_the_discordance_or_below_the_margin_has_a_reason(audit):
    asked = ("--items", "400", "--gap", "0.1", "--margin", "0.15")
    low, high = _rows(audit, *asked, "--discordance", "0.05", "--discordance", "0.2")
    assert low["gaps"][0]["power"] is None
    assert "no two systems" in low["gaps"][0]["reason"]
    assert high["gaps"][0]["power"] == pytest.approx(0.0, abs=1e-6)
    assert "not above the margin" in high["gaps"][0]["reason"]
    (row,) = _rows(audit, "--items", "400", "--gap", "0.15", "--margin", "0.15", "--discordance", "0.2")
    assert row["gaps"][0]["items"] is None


def test_the_default_is_the_default_rule_and_the_table_says_never(audit):
    audit("power", "--items", "1319")
    assert "paired_hoeffding (proven) at 1,319 items, alpha 0.05, margin 0, power 80 %" in audit.out
    assert "Enumerated exactly." in audit.out
    assert ["5", "%", "7.48", "pp", "never"] in [line.split() for line in audit.out.splitlines()]
    assert "8.18 pp" in audit.out
    assert "the plan's rule" not in audit.out


def test_a_plan_gives_its_rule_and_what_replaces_it_is_said(audit, tmp_path):
    plan = made_plan(task__test_items=700, decision_rule__method="paired_tango", decision_rule__alpha=0.1)
    plan["decision_rule"]["criteria"][0]["margin"] = 0.01
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    audit("power", "--plan", path, "--format", "json")
    result = json.loads(audit.out)
    (study,) = result["studies"]
    assert (study["method"], study["n_items"], study["alpha"], study["margin"]) == ("paired_tango", 700, 0.1, 0.01)
    assert study["criterion"] == "decision_rule.criteria[0]"
    assert not any("not the plan's rule" in note for note in result["notes"])
    audit("power", "--plan", path, "--items", "900", "--alpha", "0.05")
    assert "not the plan's rule: items, alpha" in audit.out
    assert "900 items, alpha 0.05, margin 0.01" in audit.out


def test_a_plan_gives_its_seed_and_equal_criteria_are_answered_once(audit, tmp_path):
    plan = made_plan(task__test_items=40, decision_rule__method="paired_betting", decision_rule__resampling_seed=5)
    (first,) = plan["decision_rule"]["criteria"]
    plan["decision_rule"]["criteria"] = [first, first | {"id": "twin"}, first | {"id": "other", "margin": 0.1}]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    audit("power", "--plan", path, "--discordance", "0.4", "--format", "json")
    studies = json.loads(audit.out)["studies"]
    assert [(study["seed"], study["criterion"][-3:]) for study in studies] == [(5, "[0]"), (5, "[2]")]


def test_a_run_gives_its_plan(audit, tmp_path):
    run = write_experiment(tmp_path)
    audit("power", "--run", run, "--format", "json")
    result = json.loads(audit.out)
    assert result["studies"][0]["criterion"] == "decision_rule.criteria[0]"
    assert result["observed"]["n_items"] == 20


def test_a_shipped_plan_is_found_by_its_id(audit):
    assert audit("power", "--plan", "demo").code == 0
    assert "decision_rule.criteria[0]" in audit.out


def test_a_run_gives_its_discordance_with_the_interval_around_it(audit, tmp_path):
    scores = {"treatment": [1.0] * 30 + [0.0] * 170, "baseline": [0.0] * 10 + [1.0] * 30 + [0.0] * 160}
    run = write_outcomes(tmp_path / "run", {arm: [evals(column)] for arm, column in scores.items()})
    audit("power", "--run", run, "--format", "json")
    result = json.loads(audit.out)
    observed, (study,) = result["observed"], result["studies"]
    assert (observed["discordant"], observed["n_items"], study["n_items"]) == (20, 200, 200)
    # Clopper and Pearson at 20 of 200, as scipy.stats.binomtest gives it.
    assert (observed["low"], observed["high"]) == pytest.approx((0.0622, 0.1502), abs=1e-4)
    assert [row["discordance"] for row in study["rows"]] == [observed["low"], 0.1, observed["high"]]
    assert any("itself uncertain" in note for note in result["notes"])
    audit("power", "--run", run, "--items", "1319", "--discordance", "0.3")
    assert "at 1,319 items" in audit.out
    assert "30 %" in audit.out
    assert not (run / "looks.jsonl").exists()


def test_scores_that_are_not_right_or_wrong_are_refused(audit, tmp_path):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals([0.5, 1.0])], "baseline": [evals([0.0, 1.0])]})
    assert "not right or wrong" in audit.refuses("power", "--run", run)
    plan = made_plan()
    plan["decision_rule"]["criteria"][0]["bounds"] = [0.0, 2.0]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert "right/wrong scores only" in audit.refuses("power", "--plan", tmp_path / "plan.json")


def test_a_method_that_draws_needs_a_seed_and_says_so(audit):
    asked = ("power", "--items", "30", "--method", "paired_betting", "--discordance", "0.5")
    assert "seed" in audit.refuses(*asked)
    assert audit(*asked, "--seed", "3").code == 0
    assert "Enumerated under seed 3" in audit.out


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_the_html_chart_has_lines_and_table_and_nothing_active(audit, tmp_path):
    path = tmp_path / "power.html"
    assert audit(*HOEFFDING, "--chart", path).code == 0
    page = path.read_text(encoding="utf-8")
    parser = _Tags()
    parser.feed(page)
    assert not {"script", "iframe", "object", "embed", "link", "img"} & set(parser.tags)
    assert not [name for name, _ in parser.attributes if name.startswith("on") or name in ("href", "src")]
    assert "default-src 'none'" in page
    assert "8.18 pp" in page
    assert page.count("var(--c4)") >= 1
    assert parser.tags.count("svg") == 1


def test_the_svg_chart_stands_alone(audit, tmp_path):
    path = tmp_path / "power.svg"
    assert audit(*HOEFFDING, "--method", "paired_tango", "--chart", path).code == 0
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = path.read_text(encoding="utf-8")
    assert "var(" not in text
    assert "#0072b2" in text
    words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"paired_tango", "paired_hoeffding", "true gap (pp)", "30 %"} <= words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "how many items"),
        (["--items", "0"], "--items 0"),
        (["--items", "100", "--alpha", "1"], "--alpha 1"),
        (["--items", "100", "--alpha", "nan"], "--alpha nan"),
        (["--items", "100", "--target", "0"], "--target 0"),
        (["--items", "100", "--margin", "-0.1"], "--margin -0.1"),
        (["--items", "100", "--band", "0"], "--band 0"),
        (["--items", "100", "--half-width", "2"], "--half-width 2"),
        (["--items", "100", "--discordance", "0"], "--discordance 0"),
        (["--items", "100", "--discordance", "nan"], "--discordance nan"),
        (["--items", "100", "--gap", "3"], "--gap 3"),
        (["--items", "100", "--method", "paired_tang"], "did you mean"),
        (["--items", "100", "--method", "seed_level_t"], "training seeds"),
        (["--items", "100", "--chart", "x.png"], ".html or .svg"),
        (["--items", "100", "--chart", "no/such/folder/x.svg"], "cannot be written"),
        (["--plan", "no-such-plan"], "neither a plan file"),
    ],
)
def test_wrong_usage_is_an_error_that_says_what_to_do(audit, arguments, message):
    assert message in audit.refuses("power", *arguments)
