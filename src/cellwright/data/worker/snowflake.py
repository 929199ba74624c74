"""Snowflake by its ADBC driver. The secret is a password, or a programmatic access token, or a private key (PEM)."""

from __future__ import annotations

from typing import Final

import adbc_driver_manager as adbc
import adbc_driver_snowflake
from adbc_driver_snowflake import DatabaseOptions

from cellwright.data.worker.adbc_driver import AdbcDriver
from cellwright.data.worker.source import SourceLogin
from cellwright.data.worker.warehouse import Warehouse, WarehouseDialect, warehouse_failure
from cellwright.data.worker.warehouse_plans import snowflake_estimate

_COLUMNS: Final = """
    SELECT c.table_schema, c.table_name, c.column_name, c.data_type, c.is_nullable, c.comment,
           t.table_type = 'VIEW' AS is_view
    FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema <> 'INFORMATION_SCHEMA' ORDER BY c.table_schema, c.table_name, c.ordinal_position
"""
_FUNCTIONS: Final = "SELECT DISTINCT function_name AS name FROM information_schema.functions"
_LOGIN_SECONDS: Final = 15


def open_snowflake(login: SourceLogin) -> Warehouse:
    """A session. Raises `SourceFailed`."""
    options = login.options
    chosen = {
        DatabaseOptions.ACCOUNT: options["account"],
        DatabaseOptions.DATABASE: options["database"],
        DatabaseOptions.SCHEMA: options.get("schema", ""),
        DatabaseOptions.WAREHOUSE: options.get("warehouse", ""),
        DatabaseOptions.ROLE: options.get("role", ""),
        DatabaseOptions.LOGIN_TIMEOUT: f"{_LOGIN_SECONDS}s",
        DatabaseOptions.APPLICATION_NAME: "cellwright",
        DatabaseOptions.DISABLE_TELEMETRY: "true",
        # NUMBER as int64 and float64 at once, not as decimals.
        DatabaseOptions.USE_HIGH_PRECISION: "false",
    }
    words = {option.value: value for option, value in chosen.items() if value} | {"username": login.user}
    if "PRIVATE KEY" in login.secret:
        words[DatabaseOptions.AUTH_TYPE.value] = "auth_jwt"
        words["adbc.snowflake.sql.client_option.jwt_private_key_pkcs8_value"] = login.secret
    else:
        words["password"] = login.secret
    try:
        driver = AdbcDriver(adbc_driver_snowflake.connect(db_kwargs=words), {})
    except (adbc.Error, OSError) as problem:
        raise warehouse_failure(problem, opening=True) from None
    dialect = WarehouseDialect(
        columns=_COLUMNS,
        functions=_FUNCTIONS,
        default_schema=options.get("schema", "PUBLIC"),
        plan="EXPLAIN USING JSON",
        read_plan=snowflake_estimate,
    )
    source = Warehouse(driver, dialect, "Snowflake")
    with source.stream(
        f"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {max(1, round(login.seconds))}", (), 30
    ) as it:
        for _batch in it.batches:
            pass
    return source
