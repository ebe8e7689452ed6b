import pytest

LINT = "sampler_logprob_needs_temperature_one"


@pytest.mark.parametrize("temperature", [0.5, 0.999, 1.2])
def test_finds_another_temperature(demo, found, temperature):
    (finding,) = found(demo, LINT, {"rollout.temperature": temperature})
    assert (finding.path, finding.severity) == ("rollout.temperature", "error")


def test_silent_at_temperature_one(demo, resolved_v1, resolved_v2, found):
    assert [found(plan, LINT) for plan in (demo, resolved_v1, resolved_v2)] == [[], [], []]
