"""Somebody who changes databases behind lingape's back."""

import sqlite3


def change(url, statement, *values):
    """Run a statement in a database, past what keeps its entries from being changed."""
    if url.startswith("postgresql:"):
        import psycopg

        with psycopg.connect(url) as connection:
            connection.execute("SET search_path = lingape")
            connection.execute("ALTER TABLE entries DISABLE TRIGGER USER")
            connection.execute(statement.replace("?", "%s"), values or None)
        return
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    with connection:
        connection.execute("DROP TRIGGER IF EXISTS no_update")
        connection.execute("DROP TRIGGER IF EXISTS no_delete")
        connection.execute(statement, values)
    connection.close()
