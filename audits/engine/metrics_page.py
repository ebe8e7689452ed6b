"""The page of all metrics, written from their headers: `docs/metrics.md`."""

from audits.engine.metric import Metric, load_metric, metric_ids

_HEAD = """# Metrics

Each is one file in [`sql/metrics`](../sql/metrics); its header is what stands here. A plan's gate names a metric by its
id. In an id that ends in `_qNN`, NN are the digits of the quantile: `_q50`, `_q90`, `_q999`.

`over` says how the steps of an arm become one figure: `mean_of_steps` (each step counts alike), `pooled` (each row
counts alike) or `every_step` (the limit holds in each step). Updates are counted from 0: update 1 is the second
minibatch update of a rollout batch, the first on which the policy can differ from its sampler.

"""
_ORDER = (
    "unit", "definition", "denominator", "scale", "anchor", "sign", "zero advantage", "parameters", "arm", "update",
    "over", "watch", "if it moves", "warn above", "above means", "needs", "source",
)  # fmt: skip


def metrics_page() -> str:
    """Return the page, one section a metric, sorted by id."""
    metrics = [(metric_id, load_metric(metric_id.replace("NN", "90"))) for metric_id in metric_ids()]
    listed = "".join(f"- [`{metric_id}`](#{metric_id.lower()}): {_name(metric)}\n" for metric_id, metric in metrics)
    return _HEAD + listed + "".join(_section(metric_id, metric) for metric_id, metric in metrics)


def _section(metric_id: str, metric: Metric) -> str:
    rows = [
        f"| {label} | {_cell(_any_quantile(metric, metric.header[label]))} |"
        for label in _ORDER
        if label in metric.header
    ]
    beside = f"\nBeside it: {metric.captions['beside']}.\n" if "beside" in metric.blocks else ""
    return "\n".join([f"\n## {metric_id}", "", f"{_name(metric)}.", "", "| | |", "|---|---|", *rows, beside])


def _name(metric: Metric) -> str:
    return _any_quantile(metric, metric.header["name"])


def _any_quantile(metric: Metric, text: str) -> str:
    return text if metric.quantile is None else text.replace("_q90", "_qNN").replace("90 quantile", "NN quantile")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
