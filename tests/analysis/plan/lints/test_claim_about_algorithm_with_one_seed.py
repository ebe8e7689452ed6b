def test_finds_a_claim_about_training_with_one_seed(v2, resolved_v2, found):
    for document in (v2, resolved_v2):
        (finding,) = found(document, "claim_about_algorithm_with_one_seed", {"decision_rule.unit": "training_seeds"})
        assert finding.severity == "error"
        assert finding.path == "decision_rule.seeds"


def _three_seeds(document, seeds):
    arms = [{**arm, "name": f"{arm['condition']}_{seed}", "seed": seed} for arm in document["arms"] for seed in seeds]
    return {"arms": arms, "decision_rule.seeds": seeds, "decision_rule.unit": "training_seeds"}


def test_finds_two_seeds_too_few(resolved_v2, found):
    changes = _three_seeds(resolved_v2, [0, 1])
    assert len(found(resolved_v2, "claim_about_algorithm_with_one_seed", changes)) == 1


def test_silent_with_three_seeds_or_a_claim_about_checkpoints(resolved_v2, found):
    assert found(resolved_v2, "claim_about_algorithm_with_one_seed") == []
    changes = _three_seeds(resolved_v2, [0, 1, 2])
    assert found(resolved_v2, "claim_about_algorithm_with_one_seed", changes) == []
