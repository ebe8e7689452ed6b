"""The only place that writes a run's data files: whole files, checked columns, one manifest line a file."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.arrow_tables import arrow_array, refuse_nulls, table_schema
from audits.store.durable import append_lines, remove_unfinished, whole_content, write_whole
from audits.store.gathered import Rows
from audits.store.layout import partition_folder
from audits.store.location import parquet_file
from audits.store.manifest import FILES_NAME, FileRecord, Manifest, read_files, read_manifest, write_manifest
from audits.store.preflights import require_free
from audits.store.schema import FORMAT_VERSION, Table, tables
from audits.store.seal import PLAN_NAME, SealedPlan
from audits.store.sweeps import SWEEP_NAME

Columns = Mapping[str, Sequence[Any]]

# One page holds a whole step, so that the compressor sees the first update's tokens while it packs the second's.
_PAGE_ROWS = 1 << 20
_PAGE_BYTES = 8 << 20

_PROMPTS = "prompts.parquet"


class RunWriter:
    """Writes one run directory; a file appears whole or not at all. Safe from several threads, one an arm."""

    def __init__(self, run: Path, manifest: Manifest) -> None:
        self.run = run
        self.manifest = manifest
        self._lock = threading.Lock()

    @classmethod
    def create(cls, run: Path, manifest: Manifest, sealed: SealedPlan | None, sweep: str | None = None) -> "RunWriter":
        """Make the run directory; the plan is written before anything else.

        Args:
            run: the directory.
            manifest: its `run.json`.
            sealed: its plan, None for imported outcomes without one.
            sweep: text of the `sweep.json` that the manifest records, None where it records none.

        Raises:
            AuditError: the directory holds more than a pilot's own preflights, or cannot be made.
        """
        try:
            require_free(run, manifest.plan_sha256 if manifest.kind == "pilot" else None)
            run.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise AuditError(f"{run}: cannot be made ({error.strerror}). Choose another --out") from error
        if sealed is not None:
            write_whole(run / PLAN_NAME, sealed.canonical)
        if sweep is not None:
            write_whole(run / SWEEP_NAME, sweep.encode("utf-8"))
        write_manifest(run, manifest)
        return cls(run, manifest)

    @classmethod
    def reopen(cls, run: Path) -> "RunWriter":
        """Go on with a run whose process died: what it had begun to write and did not list is removed.

        The caller holds the run (`audits.store.durable.held`).

        Raises:
            AuditError: `run.json` or `files.jsonl` is not readable, or a folder of the run is a link.
        """
        writer = cls(run, read_manifest(run))
        listed = {run / record.path for record in writer.files()}
        for folder in (run / name for name in tables()):
            if folder.is_symlink():
                raise AuditError(f"{folder}: is a link; a run holds its files itself. Put the folder in its place")
            for path in [folder.with_suffix(".parquet"), *folder.rglob("*.parquet")]:
                if path not in listed:
                    path.unlink(missing_ok=True)
        remove_unfinished(run)
        return writer

    def files(self) -> tuple[FileRecord, ...]:
        """Return the lines of `files.jsonl`."""
        return read_files(self.run)[0]

    def drop(self, unwanted: Callable[[FileRecord], bool]) -> None:
        """Take files out of the run: their lines first, so that no line is ever without its file.

        Args:
            unwanted: which of the listed files.
        """
        with self._lock:
            listed = self.files()
            kept = [record for record in listed if not unwanted(record)]
            write_whole(self.run / FILES_NAME, "".join(f"{record.model_dump_json()}\n" for record in kept).encode())
            for record in listed:
                if record not in kept:
                    (self.run / record.path).unlink(missing_ok=True)

    def update_manifest(self, **changes: Any) -> None:
        """Replace fields of `run.json`."""
        self.change_manifest(lambda _manifest: changes)

    def change_manifest(self, changes_of: Callable[[Manifest], Mapping[str, Any]]) -> None:
        """Replace fields of `run.json` by what is worked out from the fields as they stand."""
        with self._lock:
            self.manifest = self.manifest.model_copy(update=dict(changes_of(self.manifest)))
            write_manifest(self.run, self.manifest)

    def write_prompts(self, columns: Columns | Rows) -> None:
        """Write the table of prompts, one file for the run."""
        self._commit([self._write_file(tables()["prompts"], Path(_PROMPTS), columns)])

    def read_prompts(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """Return columns of the table of prompts as it was written.

        Raises:
            FileNotFoundError: it was not written yet.
        """
        with parquet_file(self.run / _PROMPTS) as opened:
            return dict(opened.read(columns=list(names)).to_pydict())

    def write_step(self, arm: str, seed: int, step: int, data: Mapping[str, Columns | Rows]) -> None:
        """Write all tables of one step of one arm; the step is whole when their lines are in `files.jsonl`.

        Args:
            arm: the arm's folder name (its condition).
            seed: the arm's training seed.
            step: the rollout step, 0-based.
            data: columns by table name; columns have one length and are sorted as they should be stored.
        """
        records = []
        for name, columns in data.items():
            relative = Path(partition_folder(name, arm, seed)) / f"step={step:06d}.parquet"
            records.append(self._write_file(tables()[name], relative, columns))
        self._commit(records)

    def write_evals(
        self, arm: str, seed: int, checkpoint: str, columns: Columns | Rows, phases: Columns | None = None
    ) -> None:
        """Write the outcomes of one checkpoint of one arm.

        Args:
            arm: the arm's folder name (its condition).
            seed: the arm's training seed.
            checkpoint: `base`, `stepNNNNNN` or `final`.
            columns: of the table of evaluations.
            phases: columns of the phases that belong to no step.
        """
        records = []
        if phases is not None:
            # Listed before the outcomes: where the outcomes are listed, nothing of the evaluation is missing.
            path = Path(partition_folder("phases", arm, seed)) / f"checkpoint={checkpoint}.parquet"
            records.append(self._write_file(tables()["phases"], path, phases))
        relative = Path(partition_folder("evals", arm, seed)) / f"checkpoint={checkpoint}.parquet"
        records.append(self._write_file(tables()["evals"], relative, columns))
        self._commit(records)

    def write_scalars(self, arm: str, seed: int, columns: Columns | Rows) -> None:
        """Write the figures that another tool logged for one arm and seed."""
        relative = partition_folder("scalars", arm, seed) / "scalars.parquet"
        self._commit([self._write_file(tables()["scalars"], Path(relative), columns)])

    def _commit(self, records: list[FileRecord]) -> None:
        with self._lock:
            append_lines(self.run / FILES_NAME, [record.model_dump_json() for record in records])

    def _write_file(self, table: Table, relative: Path, columns: Columns | Rows) -> FileRecord:
        groups = _tables(table, columns, relative)
        first = next(groups)
        path = self.run / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = 0
        with whole_content(path) as sink, _parquet_writer(sink, table, first.schema) as writer:
            for group in chain([first], groups):
                rows += group.num_rows
                writer.write_table(group, row_group_size=max(group.num_rows, 1))
        return FileRecord(
            path=relative.as_posix(),
            table=table.name,
            rows=rows,
            bytes=sink.bytes,
            sha256=sink.sha256,
            schema_version=FORMAT_VERSION,
        )


def _parquet_writer(sink: Any, table: Table, schema: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=_dictionary_columns(table, schema.names),
        column_encoding={name: "DELTA_BINARY_PACKED" for name in ("position",) if name in schema.names},
        data_page_size=_PAGE_BYTES,
        max_rows_per_page=_PAGE_ROWS,
        write_page_checksum=True,
        store_schema=True,
    )


def _tables(table: Table, columns: Columns | Rows, relative: Path) -> Iterator[Any]:
    """Yield the row groups of a file as Arrow tables, each with the columns that the file has; at least one."""
    import pyarrow as pa

    where = str(relative)
    if isinstance(columns, Rows):
        schema = table_schema(table, columns.names, where)
        for group in columns.groups():
            found = pa.Table.from_arrays(group.select(schema.names).columns, schema=schema)
            refuse_nulls(found, where)
            yield found
        if not columns:
            yield schema.empty_table()
        return
    schema = table_schema(table, columns, where)
    try:
        arrow = pa.table([arrow_array(columns[field.name], field.type) for field in schema], schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"{relative}: {error}") from error
    refuse_nulls(arrow, where)
    yield arrow


def _dictionary_columns(table: Table, present: list[str]) -> list[str]:
    floats = {column.name for column in table.columns if column.sql_type in {"FLOAT", "DOUBLE"}}
    # Few distinct values: one advantage a rollout, and settings that hold for the whole file.
    repeated = {"advantage", "reward", "learning_rate", "beta1", "beta2", "eps", "weight_decay", "grad_clip_norm"}
    return [name for name in present if name != "position" and (name not in floats or name in repeated)]
