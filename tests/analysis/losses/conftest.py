"""Losses of the plan's format that the tests share."""

import pytest

from analysis.plan.model import Loss


@pytest.fixture(scope="session")
def ratio_clip():
    def make(eps=0.2, truncation=None):
        return Loss(
            kind="ratio_clip", form="ratio", eps=eps, anchor="sampler", truncation=truncation, reduction="token_sum"
        )

    return make


@pytest.fixture(scope="session")
def divergence_mask():
    def make(divergence="binary_tv", delta=0.2, form="ratio", truncation=None):
        return Loss(
            kind="divergence_mask",
            form=form,
            divergence=divergence,
            delta=delta,
            anchor="sampler",
            truncation=truncation,
            reduction="token_sum",
        )

    return make
