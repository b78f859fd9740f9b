"""No table is misread in silence: it is read as a person does, with a note where that is a choice, or refused."""

import pytest

from mercer.tables import InputError, TableSchema, read_table
from tests.tables.known_tables import KNOWN_TABLES


@pytest.mark.parametrize("known", KNOWN_TABLES, ids=[known.file for known in KNOWN_TABLES])
def test_known_tables(tmp_path, known):
    path = tmp_path / known.file
    path.write_bytes(known.content if isinstance(known.content, bytes) else known.content.encode())
    if known.refused:
        with pytest.raises(InputError, match=known.refused):
            read_table(path, **known.options)
        return
    table = read_table(path, **known.options)
    schema, notes = TableSchema.learn(table)
    used = {column.name: column.entries(table.frame[column.name]).to_list() for column in schema.columns}
    for name, expected in known.entries.items():
        assert used.get(name, table.frame[name].to_list()) == expected, name
    said = " ".join([*table.notes, *notes])
    for words in known.said:
        assert words in said
