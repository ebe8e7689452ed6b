"""Every chart of the made-up pages is a valid specification, and drawing in threads changes nothing."""

import pytest

from reports.charts import spec
from reports.emitters.html import render_html
from reports.model import build_report
from reports.parts import ReportInputs


@pytest.mark.parametrize("kind", ["validated", "void", "inconclusive", "not_numbers", "hostile"])
def test_every_chart_is_valid_vega_lite(pages, kind):
    import altair as alt

    sections = build_report(ReportInputs(**pages[kind])).sections
    charts = [figure.chart for section in sections for figure in section.figures]
    assert charts
    for chart in charts:
        alt.Chart.from_dict(spec(chart) | {"width": 100}, validate=True)


def test_charts_that_are_drawn_at_once_stand_where_they_belong(make):
    model = build_report(ReportInputs(**make.page()))
    assert render_html(model) == render_html(model)
