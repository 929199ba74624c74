"""BigQuery by its ADBC driver. The secret is a service account's key as JSON; without it: the machine's own."""

from __future__ import annotations

import json
from typing import Any, Final

import adbc_driver_bigquery
import adbc_driver_manager as adbc
import google.auth
from adbc_driver_bigquery import DatabaseOptions, StatementOptions
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import AuthorizedSession
from google.oauth2 import service_account
from requests import RequestException

from cellwright.data.worker.adbc_driver import AdbcDriver
from cellwright.data.worker.source import CostEstimate, SourceFailed, SourceLogin
from cellwright.data.worker.warehouse import Warehouse, WarehouseDialect, warehouse_failure
from cellwright.data.worker.warehouse_plans import dry_run_estimate, dry_run_job

_COLUMNS: Final = """
    SELECT c.table_schema, c.table_name, c.column_name, c.data_type, c.is_nullable, '' AS comment,
           t.table_type = 'VIEW' AS is_view
    FROM {place}.INFORMATION_SCHEMA.COLUMNS c JOIN {place}.INFORMATION_SCHEMA.TABLES t USING (table_schema, table_name)
    ORDER BY c.table_schema, c.table_name, c.ordinal_position
"""
_FUNCTIONS: Final = "SELECT DISTINCT routine_name AS name FROM {place}.INFORMATION_SCHEMA.ROUTINES"
_JOBS: Final = "https://bigquery.googleapis.com/bigquery/v2/projects/{project}/jobs"
_SCOPES: Final = ["https://www.googleapis.com/auth/bigquery"]
_DRY_RUN_SECONDS: Final = 15


def open_bigquery(login: SourceLogin) -> Warehouse:
    """A session. Raises `SourceFailed`."""
    project, dataset = login.options["project"], login.options.get("dataset", "")
    location = login.options.get("location", "us")
    # What becomes part of a statement is a name, and nothing else.
    if not all(part.replace("-", "").replace("_", "").isalnum() for part in (project, dataset or "x", location)):
        raise SourceFailed("other", "The project, the dataset or the location is no name.")
    words = {DatabaseOptions.PROJECT_ID.value: project, DatabaseOptions.LOCATION.value: location}
    if dataset:
        words[DatabaseOptions.DATASET_ID.value] = dataset
    if login.secret:
        words[DatabaseOptions.AUTH_TYPE.value] = DatabaseOptions.AUTH_VALUE_JSON_CREDENTIAL_STRING.value
        words[DatabaseOptions.AUTH_CREDENTIALS.value] = login.secret
    options = {StatementOptions.USE_LEGACY_SQL.value: "false"}
    if dataset:
        options |= {
            StatementOptions.DEFAULT_PROJECT_ID.value: project,
            StatementOptions.DEFAULT_DATASET_ID.value: dataset,
        }
    try:
        driver = AdbcDriver(adbc_driver_bigquery.connect(words), options, StatementOptions.JOB_TIMEOUT.value)
    except (adbc.Error, OSError) as problem:
        raise warehouse_failure(problem, opening=True) from None
    place = f"`{project}`.`{dataset}`" if dataset else f"`{project}`.`region-{location.lower()}`"
    dialect = WarehouseDialect(
        columns=_COLUMNS.format(place=place),
        functions=_FUNCTIONS.format(place=place),
        default_schema=dataset,
        dry_run=lambda statement: _dry_run(login.secret, dry_run_job(statement, project, dataset, location)),
    )
    return Warehouse(driver, dialect, "BigQuery")


def _dry_run(secret: str, job: dict[str, Any]) -> CostEstimate:
    """By the service itself: the driver has the option, and gives no statistics back. What fails, says nothing."""
    library: Any = service_account.Credentials
    try:
        if secret:
            credentials = library.from_service_account_info(json.loads(secret), scopes=_SCOPES)
        else:
            credentials, _ = google.auth.default(scopes=_SCOPES)
        with AuthorizedSession(credentials) as session:
            address = _JOBS.format(project=job["jobReference"]["projectId"])
            return dry_run_estimate(session.post(address, json=job, timeout=_DRY_RUN_SECONDS).json())
    except (GoogleAuthError, RequestException, ValueError):
        return CostEstimate()
