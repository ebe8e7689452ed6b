"""What another loss's rule would have taken away, from the log alone."""

import math

import numpy as np
import pytest
from made_run import made_plan, sealed, tokens, write_run

from analysis.errors import AuditError
from audits.engine.counterfactual import CURVE_THRESHOLDS, Rule, RuleAsk, parse_rule, rules_of
from audits.engine.measure import measure_all
from audits.store.reader import open_run


def log_of(arm, seed, step):
    rng = np.random.default_rng([len(arm), ord(arm[0]), step])
    rows = []
    for update in (0, 1):
        for _ in range(200):
            sampler = np.float32(-rng.exponential(0.7))
            current = np.float32(min(0.0, sampler + rng.normal(0, 0.05 + 0.4 * update)))
            rows.append((update, float(sampler), float(current), float(rng.choice([-1.0, 0.0, 0.5]))))
    return rows


def rule_shares(run, arms, rules, update):
    asked = [RuleAsk(arm, rule) for arm in arms for rule in rules]
    found = measure_all(run, [own.request for own in asked])
    shares = [own.share(measured, update) for own, measured in zip(asked, found, strict=True)]
    return tuple(share for share in shares if share is not None)


def plain_share(rule, rows):
    def taken(sampler, current, advantage):
        mu, pi = math.exp(sampler), math.exp(current)
        if rule.kind == "ratio":
            ratio = math.exp(current - sampler)
            return (advantage > 0 and ratio > 1 + rule.threshold) or (advantage < 0 and ratio < 1 - rule.threshold)
        kl = mu * (sampler - current) + (1 - mu) * math.log((max(1 - mu, 0) + 1e-8) / (max(1 - pi, 0) + 1e-8))
        return (pi - mu) * advantage > 0 and (abs(pi - mu) if rule.kind == "binary_tv" else kl) > rule.threshold

    second = [row[1:] for row in rows if row[0] == 1]
    return sum(taken(*row) for row in second) / len(second)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = write_run(
        tmp_path_factory.mktemp("rules") / "run",
        tokens_of=lambda arm, seed, step: tokens(log_of(arm, seed, step), step),
    )
    return open_run(path)


@pytest.mark.parametrize("kind", ["binary_tv", "binary_kl", "ratio"])
def test_every_rule_on_every_arm_agrees_with_plain_python(run, kind):
    rules = [Rule(kind, threshold) for threshold in CURVE_THRESHOLDS]
    found = rule_shares(run, ("dppo", "grpo"), rules, 1)
    assert [(share.arm, share.rule) for share in found] == [(arm, rule) for arm in ("dppo", "grpo") for rule in rules]
    for share in found:
        by_step = [plain_share(share.rule, log_of(share.arm, 0, step)) for step in (0, 1)]
        assert share.share == pytest.approx(np.mean(by_step), abs=1e-12)
        assert share.numerator == pytest.approx(200 * sum(by_step))
        assert (share.denominator, share.steps, share.steps_at_zero) == (400, 2, by_step.count(0))


def test_a_curve_never_rises_with_its_threshold(run):
    shares = [share.share for share in rule_shares(run, ("dppo",), [Rule("binary_tv", t) for t in CURVE_THRESHOLDS], 1)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1]


def test_binary_tv_masks_a_subset_of_the_clip_of_the_same_threshold(run):
    # |pi - mu| = mu |r - 1| <= |r - 1|.
    masked, clipped = rule_shares(run, ("dppo",), [Rule("binary_tv", 0.2), Rule("ratio", 0.2)], 1)
    assert 0 < masked.numerator < clipped.numerator


def test_an_update_that_was_never_executed_has_no_line(run):
    assert rule_shares(run, ("dppo",), [Rule("ratio", 0.2)], 7) == ()


def test_the_plan_s_rules_are_those_of_its_arms_each_once():
    plan = made_plan()
    plan["arms"] += [arm | {"seed": 1, "name": arm["name"] + "b"} for arm in plan["arms"]]
    assert rules_of(sealed(plan).plan) == (Rule("ratio", 0.2), Rule("binary_tv", 0.15))


def test_an_arm_with_rows_that_are_no_numbers_has_no_share_and_not_a_smaller_one(tmp_path):
    def broken(arm, seed, step):
        return tokens([(1, -0.5, math.nan if arm == "dppo" else -0.4, 1.0), (1, -0.5, -0.4, 1.0)], step)

    opened = open_run(write_run(tmp_path / "run", tokens_of=broken))
    broken_arm, whole = rule_shares(opened, ("dppo", "grpo"), [Rule("ratio", 0.01)], 1)
    assert math.isnan(broken_arm.share)
    assert whole.share == 1.0


@pytest.mark.parametrize(
    ("text", "rule"), [("binary_tv=0.1", Rule("binary_tv", 0.1)), ("ratio=1e-2", Rule("ratio", 0.01))]
)
def test_a_rule_is_read_from_its_text(text, rule):
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("binary_tw=0.1", 'did you mean "binary_tv"'), ("binary_tv", "positive number"), ("ratio=-1", "positive"),
        ("ratio=nan", "positive number"), ("ratio=inf", "positive number"), ("=0.1", "none of"), ("", "none of"),
    ],
)  # fmt: skip
def test_a_rule_that_is_none_is_refused_with_an_example(text, said):
    with pytest.raises(AuditError, match=said):
        parse_rule(text)
