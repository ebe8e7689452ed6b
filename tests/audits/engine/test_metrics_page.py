"""docs/metrics.md is what the headers say: `RUNAUDIT_WRITE=1 pytest` on this file writes it."""

import os
from pathlib import Path

from audits.engine.metric import load_metric, metric_ids
from audits.engine.metrics_page import metrics_page

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_is_what_the_headers_say():
    if os.environ.get("RUNAUDIT_WRITE"):
        PAGE.write_text(metrics_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == metrics_page()


def test_every_metric_has_its_section_with_its_definition():
    page = metrics_page()
    for metric_id in metric_ids():
        section = page.split(f"\n## {metric_id}\n")[1].split("\n## ")[0]
        metric = load_metric(metric_id.replace("NN", "90"))
        assert metric.header["definition"].replace("_q90", "_qNN") in section
        assert "90 quantile" not in section
        assert all(f"| {label} |" in section for label in ("unit", "denominator", "over", "needs", "source"))
