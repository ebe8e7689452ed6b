"""Reads the rows of a plan's data set: from local files where RUNAUDIT_DATA names a folder, else from the hub."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from analysis.plan.model import Dataset

DATA_VARIABLE = "RUNAUDIT_DATA"
Row = Mapping[str, Any]


def dataset_rows(dataset: Dataset, split: str, environment: Mapping[str, str] = os.environ) -> list[Row]:
    """Return the rows of one official split, in the order in which the data set has them.

    Args:
        dataset: the plan's block.
        split: the split's own name, such as `train`.
        environment: RUNAUDIT_DATA names a folder with `<dataset.name>/<split>.jsonl` or `.parquet`.

    Raises:
        AuditError: the local file is missing or damaged, or the hub gives nothing; the message names both ways out.
    """
    folder = environment.get(DATA_VARIABLE)
    if folder:
        return _local_rows(Path(folder) / dataset.name, split)
    return _hub_rows(dataset, split)


def source_of(dataset: Dataset, environment: Mapping[str, str] = os.environ) -> str:
    """Return in words where `dataset_rows` would read, without a path of this machine."""
    return f"{DATA_VARIABLE}/{dataset.name}" if environment.get(DATA_VARIABLE) else "Hugging Face hub"


def shuffled_as_the_hub_does(count: int, seed: int) -> list[int]:
    """Return the order into which `datasets.Dataset.shuffle(seed)` brings a data set of so many rows."""
    datasets = _datasets()
    return [int(row) for row in datasets.Dataset.from_dict({"row": range(count)}).shuffle(seed=seed)["row"]]


def _local_rows(folder: Path, split: str) -> list[Row]:
    lines, columns = folder / f"{split}.jsonl", folder / f"{split}.parquet"
    if lines.is_file():
        return list(_json_lines(lines))
    if columns.is_file():
        return _parquet_rows(columns)
    raise AuditError(
        f"{DATA_VARIABLE}: neither {lines} nor {columns} is there. Put the split's rows there, or unset "
        f"{DATA_VARIABLE} to load the data set from the Hugging Face hub"
    )


def _json_lines(path: Path) -> Iterator[Row]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(f"{path}: cannot be read ({error})") from error
    # Not splitlines(): a JSON string may hold a line separator that is no line end.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise AuditError(f"{path}: line {number} is not JSON ({error})") from error
        if not isinstance(row, dict):
            raise AuditError(f"{path}: line {number} is not a JSON object")
        yield row


def _parquet_rows(path: Path) -> list[Row]:
    datasets = _datasets()
    with tempfile.TemporaryDirectory() as cache:
        try:
            table = datasets.Dataset.from_parquet(str(path), cache_dir=cache, keep_in_memory=True)
        except Exception as error:
            raise AuditError(f"{path}: is not a readable Parquet file ({type(error).__name__}: {error})") from error
        return list(table)


def _hub_rows(dataset: Dataset, split: str) -> list[Row]:
    datasets = _datasets()
    try:
        return list(datasets.load_dataset(dataset.hf_path, name=dataset.config, split=split, revision=dataset.revision))
    except Exception as error:
        # Without network the hub's client raises whatever its HTTP library does.
        reason = (str(error).strip().splitlines() or [""])[0]
        raise AuditError(
            f"dataset {dataset.hf_path!r}, split {split!r}: the Hugging Face hub gave nothing "
            f"({type(error).__name__}: {reason}). Give this machine network access to the hub, or put the rows into "
            f"FOLDER/{dataset.name}/{split}.jsonl (or .parquet) and set {DATA_VARIABLE}=FOLDER"
        ) from error


def _datasets() -> Any:
    try:
        import datasets
    except ImportError:
        raise AuditError("loading a data set needs `datasets`. Install it: pip install 'runaudit[train]'") from None
    return datasets
