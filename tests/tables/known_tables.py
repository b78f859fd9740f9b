"""Tables with known contents: what a person reads in them, or why nobody can."""

from __future__ import annotations

import datetime as dt
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl


@dataclass(frozen=True)
class KnownTable:
    """A file, what is in it, and what must be said of it.

    Attributes
    ----------
    file, content : str, str or bytes
        Name and bytes of the file.
    entries : dict of str to list
        Columns by name, entries as numbers, dates or texts.
    said : tuple of str
        Words that the notes must have.
    refused : str
        Words of the refusal, if nobody can read the file.
    options : dict
        Of `read_table`.
    """

    file: str
    content: str | bytes
    entries: dict[str, list[Any]] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    refused: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def binary(write: Callable[[Any], Any]) -> bytes:
    """What a function writes into a file."""
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def rows(*lines: str) -> str:
    """A text of lines."""
    return "\n".join(lines) + "\n"


def quoted(entries: list[str], name: str = "p") -> str:
    """One column of quoted texts beside one of plain numbers, between commas."""
    return rows(f"{name},n", *[f'"{entry}",{7 * i % 5}' for i, entry in enumerate(entries)])


DAY = dt.date
N3 = [0, 2, 4]
MARKS = "say so with --decimal or --thousands"

UNITS = [
    KnownTable(
        "units.csv",
        rows("name,weight", ",kg", "a,1.5", "b,2"),
        {"weight": [1.5, 2]},
        ("The second line holds units and is no row: kg.",),
    ),
    KnownTable(
        "bracketed_units.csv",
        rows("t;v;w", "[s];[m/s];(W/m^2)", "0;1,5;3", "1;2,5;4"),
        {"v": [1.5, 2.5], "w": [3, 4]},
        ("no row: [s], [m/s], (W/m^2).",),
    ),
    KnownTable(
        "dashes_for_no_unit.csv",
        rows("n,site,temp", "-,-,°C", "3,a,1.5", "5,b,2", "2,a,7"),
        {"n": [3, 5, 2], "temp": [1.5, 2, 7]},
        ("no row: °C.",),
    ),
    KnownTable("no_units.csv", rows("sex,size", "m,", "m,3", "f,4", "m,5"), {"size": [None, 3, 4, 5]}),
    KnownTable("no_unit_but_a_word.csv", rows("a,b", "x,unknown", "y,3", "x,4"), {"b": ["unknown", "3", "4"]}),
]

NUMBERS = [
    KnownTable("thousands.csv", quoted(["1,200", "12,500", "3,000"]), {"p": [1200, 12500, 3000], "n": N3},
               ('p: texts are read as numbers, such as "1,200" as 1200', MARKS)),
    KnownTable("sure_thousands.csv", quoted(["1,200", "12,500,000", "3,000"]), {"p": [1200, 12_500_000, 3000]},
               ('"12,500,000" as 12500000.',)),
    KnownTable("points_after_commas.csv", quoted(["1,200.5", "12,500", "7"]), {"p": [1200.5, 12500, 7]},
               ('"1,200.5" as 1200.5.',)),
    KnownTable("decimal_commas.csv", quoted(["1,5", "12,25", "3,125"]), {"p": [1.5, 12.25, 3.125]},
               ('"1,5" as 1.5.',)),
    KnownTable("below_one.csv", quoted(["0,125", "1,250", "0,500"]), {"p": [0.125, 1.25, 0.5]}, ('as 0.125.',)),
    KnownTable("semicolons.csv", rows("p;n", "1,200;1", "12,500;5", "3,000;2"), {"p": [1.2, 12.5, 3.0]}, (MARKS,)),
    KnownTable("german.csv", rows("p;q", "1.200;3,5", "12.500;4,25", "900;1,0"),
               {"p": [1200, 12500, 900], "q": [3.5, 4.25, 1.0]}, ('"1.200" as 1200', MARKS, '"3,5" as 3.5.')),
    KnownTable("german_full.csv", rows("p;q", "1.234,50;1", "-2.000,00;3", "7,25;2"), {"p": [1234.5, -2000, 7.25]},
               ('"1.234,50" as 1234.5.',)),
    KnownTable("some_commas.csv", rows("p;n", "1,200;1", "950;5", "3,000;2"), {"p": [1200, 950, 3000]}, (MARKS,)),
    KnownTable("some_points.csv", rows("p;n", "1.200;1", "950;5", "3.000;2"), {"p": [1200, 950, 3000]}, (MARKS,)),
    KnownTable("kilograms.csv", rows("p,n", "12 kg,1", "7.5 kg,5", "1 kg,2"), {"p": [12, 7.5, 1]}, ("as 7.5.",)),
    KnownTable("two_measures.csv", rows("p,n", "12 kg,1", "500 g,5", "1 kg,2"), {"p": ["12 kg", "500 g", "1 kg"]}),
    KnownTable("points.csv", rows("p;q", "1.200;3", "12.500;5", "9.125;1"), {"p": [1.2, 12.5, 9.125]},
               ('"1.200" is read as 1.2; if not, give --thousands "."',)),
    KnownTable("english.csv", rows("p,q", "1.200,3", "12.500,5", "9.125,1"), {"p": [1.2, 12.5, 9.125]}),
    KnownTable("asked_decimal.csv", quoted(["1,200", "12,500", "3,000"]), {"p": [1.2, 12.5, 3.0]}, ('as 1.2.',),
               options={"decimal": ","}),
    KnownTable("asked_thousands.csv", rows("p;n", "1.200;1", "12.500;5", "3.000;2"), {"p": [1200, 12500, 3000]},
               ("as 1200.",), options={"thousands": "."}),
    KnownTable("percent.csv", rows("p,n", "72.7%,1", "5%,5", "100 %,2"), {"p": [72.7, 5, 100]}, ('"72.7%" as 72.7.',)),
    KnownTable("euro.csv", quoted(["€ 2,165.07", "€ 3.00", "€1,000"]), {"p": [2165.07, 3, 1000]}, ("as 2165.07.",)),
    KnownTable("euro_after.csv", rows("p;n", "1 200,50 €;1", "3,00 €;5", "-7,25 €;2"), {"p": [1200.5, 3, -7.25]},
               ('"1 200,50 €" as 1200.5.',)),
    KnownTable("narrow.csv", rows("p;n", "1\u202f200,5;1", "3\u00a0000,25;5", "7,0;2"), {"p": [1200.5, 3000.25, 7]},
               ("as 1200.5.",)),
    KnownTable("dollars.csv", quoted(["$1,200", "$950", "-$12.50"]), {"p": [1200, 950, -12.5]}, ("as ",)),
    KnownTable("francs.csv", rows("p,n", "CHF 3'450.00,1", "CHF 20.50,5", "CHF 1'000.00,2"), {"p": [3450, 20.5, 1000]},
               ("as 3450.",)),
    KnownTable("losses.csv", quoted(["(1,200)", "300", "(45.5)"]), {"p": [-1200, 300, -45.5]}, ("as -",)),
    KnownTable("two_currencies.csv", quoted(["$1,200", "€950", "$3"]), {"p": ["$1,200", "€950", "$3"]}),
    KnownTable("partly_units.csv", quoted(["$5.50", "6.25", "$7.75"]), {"p": [5.5, 6.25, 7.75]},
               ("1 of the entries have no $",)),
    KnownTable("zip.csv", rows("zip,n", "01234,1", "12345,5", "00501,2"), {"zip": ["01234", "12345", "00501"]},
               ("zip: leading zeros say that these are codes",)),
    KnownTable("months.csv", rows("month,n", "01,1", "12,5", "07,2"), {"month": [1, 12, 7]}),
    KnownTable("indian.csv", quoted(["12,34,567", "1,00,000", "5,000"]), {"p": [1_234_567, 100_000, 5000]}, ("as 12",)),
    KnownTable("exponents.csv", rows("p,n", "1e3,1", "2.5E-2,5", "+7,2"), {"p": [1000, 0.025, 7]}),
    KnownTable("extremes.csv", rows("p,n", "1.7e308,1", "1e-320,5", "2,2"), {"p": [1.7e308, 1e-320, 2]}),
    KnownTable("infinite.csv", rows("p,n", "1e400,1", "5,5", "2,2"), {"p": [None, 5, 2]}, ("1 entry is infinite",)),
    KnownTable("ten_words.csv", rows("p,n", *[f"{v},{i * 3 % 7}" for i, v in enumerate([*range(3, 33, 3), "heavy"])]),
               {"p": [*range(3, 33, 3), None]}, ("p: 1 entry is not a number and counts as missing",)),
    KnownTable("versions.csv", rows("v,n", "1.2.3,1", "1.3.0,5", "2.0.1,2"), {"v": ["1.2.3", "1.3.0", "2.0.1"]}),
    KnownTable("long_ids.csv", rows("key,n", "12345678901234567890,1", "12345678901234567891,5"),
               {"key": ["12345678901234567890", "12345678901234567891"]}),
]  # fmt: skip

DIALECTS = [
    KnownTable("quoted_header.csv", rows('"weight; kg; dry",height', "1,2", "3,5"),
               {"weight; kg; dry": [1, 3], "height": [2, 5]}),
    KnownTable("excel.csv", rows("sep=;", "a;b", "1,5;2", "2,5;4"), {"a": [1.5, 2.5], "b": [2, 4]}),
    KnownTable("spaces.txt", rows("a b c", "1 2 x", "3 5 y"), {"a": [1, 3], "b": [2, 5], "c": ["x", "y"]},
               ("separated by spaces",)),
    KnownTable("aligned.txt", rows("  name   size   mass", "  x       1.5     20", "  y      10.5    330"),
               {"name": ["x", "y"], "size": [1.5, 10.5], "mass": [20, 330]}, ("separated by spaces",)),
    KnownTable("spaces_and_commas.txt", rows("a p", "1 $1,242.59", "NA $3,586.00", "4 $12.50"),
               {"a": [1, None, 4], "p": [1242.59, 3586, 12.5]}, ("separated by spaces", "as 1242.59")),
    KnownTable("streets.txt", rows("address", "Road 5", "Street 7"), {"address": ["Road 5", "Street 7"]}),
    KnownTable("column_of_shares.csv", rows("p", "3,490.24%", "989.5%", "?"), {"p": [3490.24, 989.5, None]}, ("as 3",)),
    KnownTable("wide_gaps.txt", rows("first name    size", "Anna Maria    1.5", "Bo            2.5"),
               {"first name": ["Anna Maria", "Bo"], "size": [1.5, 2.5]}, ("separated by spaces",)),
    KnownTable("one_text.csv", rows("first name", "Anna Maria", "Bo Peep"), {"first name": ["Anna Maria", "Bo Peep"]}),
    KnownTable("mac.csv", "a,b\r1,2\r3,5\r", {"a": [1, 3], "b": [2, 5]}),
    KnownTable("windows.csv", "a,b\r\n1,2\r\n3,5\r\n", {"a": [1, 3], "b": [2, 5]}),
    KnownTable("inner_return.csv", 'a,b\n"x\ry",2\nz,5\n', {"a": ["x\ry", "z"], "b": [2, 5]}),
    KnownTable("inner_line.csv", 'a,b\r\n"x\r\ny",2\r\nz,5\r\n', {"a": ["x\ny", "z"], "b": [2, 5]}),
    KnownTable("spaced_quotes.csv", rows('a, "b, c"', '1, "x, y"', '3, "z"'), {"a": [1, 3], "b, c": ["x, y", "z"]}),
    KnownTable("inches.csv", rows("n,size", '1,5" pipe', '3,6" pipe'), {"size": ['5" pipe', '6" pipe'], "n": [1, 3]}),
    KnownTable("inches_on_a_mac.csv", 'n,size\r1,5" pipe\r3,6" pipe\r', {"size": ['5" pipe', '6" pipe'], "n": [1, 3]}),
    KnownTable("doubled_quotes.csv", 'a,b\r"say ""hi, you""",2\r"x\r""y""",5\r', {"a": ['say "hi, you"', 'x\r"y"']}),
    KnownTable("other_line_ends.csv", "a,b\nx\u2028y,2\nz\x0bw,5\n", {"b": [2, 5]}),
    KnownTable("bars.csv", rows("a|b", "1|2", "3|5"), {"a": [1, 3], "b": [2, 5]}),
    KnownTable("sentences.csv", rows("n;text", "1;well, yes", "3;no, never, ever"),
               {"n": [1, 3], "text": ["well, yes", "no, never, ever"]}),
    KnownTable("asked_separator.csv", rows("a^b", "1^2", "3^5"), {"a": [1, 3], "b": [2, 5]},
               options={"separator": "^"}),
    KnownTable("blank_lines.csv", "\n\na,b\n\n1,2\n  \n3,5\n\n", {"a": [1, 3], "b": [2, 5]}),
    KnownTable("no_header.csv", rows("5.1,3.5,setosa", "4.9,3.0,setosa", "6.1,3.1,other"),
               {"column 1": [5.1, 4.9, 6.1], "column 3": ["setosa", "setosa", "other"]}, ("taken as a row",)),
    KnownTable("years.csv", rows("country,1990,1991", "de,1,2", "fr,3,5"), {"1990": [1, 3], "1991": [2, 5]},
               ("taken as names of columns, though some are numbers: 1990, 1991",)),
    KnownTable("from_r.txt", rows("length kind", '"17" 5.1 "a b"', '"3" 4.9 "c"'),
               {"row name": [17, 3], "length": [5.1, 4.9], "kind": ["a b", "c"]}, ("the first column names the rows",)),
    KnownTable("from_pandas.csv", rows(",a,b", "17,1,2", "3,3,5", "9,7,7"), {"a": [1, 3, 7], "column 1": [17, 3, 9]},
               ("column 1 is not used: it names the rows",)),
    KnownTable("trailing.csv", rows("a,b", "1,2,", "3,5,"), {"a": [1, 3], "b": [2, 5]}),
    KnownTable("short_lines.csv", rows("a,b,c", "1,2", "3,5,6", "4,4,8"), {"a": [1, 3, 4], "c": [None, 6, 8]},
               ("1 entry is not there and counts as missing",)),
    KnownTable("twice.csv", rows("a,a,", "1,2,3", "3,5,4"), {"a": [1, 3], "a (2)": [2, 5], "column 3": [3, 4]},
               ("were changed: a (2), column 3",)),
    KnownTable("one_decimal_column.csv", rows("x", "1,5", "2,5"), {"x": [1.5, 2.5]}, ('"1,5" as 1.5',)),
    KnownTable("levels.csv", rows("level,n", "none,1", "low,5", "low,3", "NA,2"),
               {"level": ["none", "low", "low", None]}),
    KnownTable("title.csv", rows("My report", "a,b,c", "1,2,3"), refused="remove what stands above the names"),
    KnownTable("open_quote.csv", rows("a,b", '1,"abc', "2,3"), refused="a quote in it does not end"),
    KnownTable("too_long.csv", rows("a,b", "1,2", "1,2,3,4", "5,6"), refused="cannot be read as a table"),
    KnownTable("packed.csv.gz", gzip.compress(b"a,b\n1,2\n3,5\n"), {"a": [1, 3], "b": [2, 5]}),
    KnownTable("packed.tsv.gz", gzip.compress(b"a\tb\n1\t2,5\n3\t5,5\n"), {"a": [1, 3], "b": [2.5, 5.5]}),
    KnownTable("packed.txt.gz", gzip.compress(b"a b\n1 2\n3 5\n"), {"a": [1, 3], "b": [2, 5]}, ("spaces",)),
    # printf 'a,b\n1,2\n3,5\n' | zstd
    # What `zstd` makes of a,b and two rows; then with another checksum.
    KnownTable("packed.csv.zst", bytes.fromhex("28b52ffd0458610000612c620a312c320a332c350a913af743"),
               {"a": [1, 3], "b": [2, 5]}),
    KnownTable("damaged.csv.zst", bytes.fromhex("28b52ffd0458610000612c620a312c320a332c350a00000000"),
               refused="is damaged"),
    KnownTable("half.csv.zst", bytes.fromhex("28b52ffd0458610000612c62"), refused="is damaged"),
]  # fmt: skip

DATES = [
    KnownTable("iso.csv", rows("d,n", "2024-02-01,1", "2024-12-31,5"), {"d": [DAY(2024, 2, 1), DAY(2024, 12, 31)]}),
    KnownTable("day_first.csv", rows("d,n", "01/02/2024,1", "31/12/2024,5"),
               {"d": [DAY(2024, 2, 1), DAY(2024, 12, 31)]}, ('"01/02/2024" as 2024-02-01.',)),
    KnownTable("month_first.csv", rows("d,n", "01/02/2024,1", "12/31/2024,5"),
               {"d": [DAY(2024, 1, 2), DAY(2024, 12, 31)]}, ('"01/02/2024" as 2024-01-02.',)),
    KnownTable("either_first.csv", rows("d,n", "01/02/2024,1", "03/04/2024,5"),
               {"d": [DAY(2024, 2, 1), DAY(2024, 4, 3)]}, ("day and month may be the other way round",)),
    KnownTable("points_in_dates.csv", rows("d;n", "1.2.2024;1", "31.12.2024;5"),
               {"d": [DAY(2024, 2, 1), DAY(2024, 12, 31)]}, ("as 2024-02-01",)),
    KnownTable("moments.csv", rows("d,n", "2024-02-01T10:30:00Z,1", "2024-12-31T23:00:00+02:00,5"),
               {"d": [dt.datetime(2024, 2, 1, 10, 30), dt.datetime(2024, 12, 31, 21)]}),
    KnownTable("placeholders.csv", rows("d,n", "2024-02-01,1", "9999-12-31,5", "2024-12-31,2"),
               {"d": [DAY(2024, 2, 1), None, DAY(2024, 12, 31)]}, ("at the end of the calendar and counts as",)),
    KnownTable("dates.parquet", binary(pl.DataFrame({"d": ["2024-02-01", "2024-12-31"], "n": [1, 5]}).write_parquet),
               {"d": [DAY(2024, 2, 1), DAY(2024, 12, 31)]}),
]  # fmt: skip

BINARY = [
    KnownTable("texts.parquet", binary(pl.DataFrame({"p": ["1,5", "2,25"], "n": [1, 5]}).write_parquet),
               {"p": [1.5, 2.25]}, ('"1,5" as 1.5',)),
    KnownTable("index.parquet", binary(pl.DataFrame({"a": [1, 5], "__index_level_0__": [0, 1]}).write_parquet),
               {"a": [1, 5]}, ("__index_level_0__ is left out",)),
    KnownTable("names.parquet", binary(pl.DataFrame({"a": [1, 5], "__index_level_0__": ["x", "y"]}).write_parquet),
               {"a": [1, 5], "__index_level_0__": ["x", "y"]}, ("__index_level_0__ is not used: it names the rows",)),
    KnownTable("lists.parquet", binary(pl.DataFrame({"e": [[1.0, 2.0], [3.0, 5.0], None]}).write_parquet),
               {"e[0]": [1, 3, None], "e[1]": [2, 5, None]}),
    KnownTable("arrays.parquet", binary(
        pl.DataFrame({"e": pl.Series([[1, 2], [3, 5]], dtype=pl.Array(pl.Int64, 2))}).write_parquet),
        {"e[0]": [1, 3], "e[1]": [2, 5]}),
    KnownTable("ragged.parquet", binary(pl.DataFrame({"e": [[1.0], [3.0, 5.0]], "n": [1, 5]}).write_parquet),
               {"n": [1, 5]}, ("e is not used: it holds List",)),
    KnownTable("structs.arrow", binary(pl.DataFrame({"s": [{"x": 1}, {"x": 2}], "n": [1, 5]}).write_ipc),
               {"n": [1, 5]}, ("s is not used: it holds Struct",)),
    KnownTable("swapped.npy", binary(lambda f: np.save(f, np.array([[1.0, 2.0], [3.0, 5.0]], dtype=">f8"))),
               {"x1": [1, 3], "x2": [2, 5]}),
    KnownTable("half.npz", binary(lambda f: np.savez(f, X=np.array([[1, 2], [3, 5]], "f2"), y=np.array([[7], [9]]))),
               {"X1": [1, 3], "X2": [2, 5], "y": [7, 9]}),
]  # fmt: skip

BODY = ["5,3,1.5", "2,4,6.5", "3,1,9.5", "7,2,2.5"]
ABC = {"a": [5, 2, 3, 7], "b": [3, 4, 1, 2], "c": [1.5, 6.5, 9.5, 2.5]}
WIDE = [f"gene_with_a_rather_long_name_number_{j:05d}_{'x' * 20}" for j in range(2500)]

HEADERS = [
    KnownTable("from_pandas_without_names.csv", rows("0,1,2", "5,3,1", "2,4,6", "3,1,9"),
               {"0": [5, 2, 3], "1": [3, 4, 1], "2": [1, 6, 9]}, ("some are numbers: 0, 1, 2; else give --no-header",)),
    KnownTable("two_columns_of_pandas.csv", rows("0,1", "0.5,1.25", "2.5,-3.5", "1.5,4.5"),
               {"0": [0.5, 2.5, 1.5], "1": [1.25, -3.5, 4.5]}, ("some are numbers: 0, 1",)),
    KnownTable("only_years.csv", rows("1990,1991,1992", "5,3,1", "2,4,6", "3,1,9"),
               {"1990": [5, 2, 3], "1992": [1, 6, 9]}, ("some are numbers: 1990",)),
    KnownTable("spectra.csv", rows("sample,400.5,401.0,401.5", "s1,0.1,0.2,0.3", "s2,0.3,0.2,0.5", "s3,0.2,0.6,0.3"),
               {"400.5": [0.1, 0.3, 0.2], "401.5": [0.3, 0.5, 0.3]}, ("some are numbers: 400.5",)),
    KnownTable("wavelengths.csv", rows("1100,1110.5,1121,1131.5", ".1,.5,.2,.3", ".3,.2,.5,.9"),
               {"1110.5": [0.5, 0.2]}, ("some are numbers",)),
    KnownTable("truth_values.csv", rows("0,1", "1,0", "1,1", "0,0"), {"column 1": [0, 1, 1, 0]},
               ("else give --header",)),
    KnownTable("counting_rows.csv", rows("0,1,2", "3,4,5", "6,7,8"), {"column 1": [0, 3, 6]}, ("else give --header",)),
    KnownTable("sorted.csv", rows("1,2,3", "4,6,9", "7,9,12"), {"column 1": [1, 4, 7]}, ("else give --header",)),
    KnownTable("asked_header.csv", rows("0,1", "1,0", "1,1", "0,0"), {"0": [1, 1, 0]}, options={"header": True}),
    KnownTable("asked_rows.csv", rows("x,y", "z,y", "x,w"), {"column 1": ["x", "z", "x"]}, options={"header": False}),
    KnownTable("comment.csv", rows("# made by X, version 2, today", "a,b,c", *BODY), ABC,
               ("1 line that begins with # was left out: # made by X, version 2, today",)),
    KnownTable("comments.csv", rows("# made by X", "#", "# on Monday", "", "a;b", "1;2", "2;3;4"),
               refused="line 7 has 3 entries, and the first one has 2"),
    KnownTable("gnuplot.txt", rows("# x y z", "1 2 3", "4 5 7", "6 6 1"), {"x": [1, 4, 6], "z": [3, 7, 1]},
               ("The names of the columns are those of the last line that begins with #.",)),
    KnownTable("marked_names.csv", rows("## of the lab", "#id,city,n", "x1,Rome,4", "x2,Oslo,9"), {"n": [4, 9]},
               ("those of the last line", "1 line that begins with # was left out: ## of the lab")),
    KnownTable("all_texts_below_marked_names.csv", rows("#id,city", "x1,Rome", "x2,Oslo"), {"city": ["Rome", "Oslo"]}),
    KnownTable("only_comments.csv", rows("#a", "#b", "#c"), {"#a": ["#b", "#c"]}),
    KnownTable("title_and_commas.csv", rows("My report,,", "a,b,c", *BODY), refused="remove what stands above"),
    KnownTable("nothing_and_title.csv", rows(",,", "My report,,", "a,b,c", *BODY), refused="remove what stands above"),
    KnownTable("nothing_above.csv", rows(",,", "a,b,c", *BODY), ABC),
    KnownTable("only_separators.csv", rows(",,", ",,"), refused="has no entries, only marks that separate them"),
    KnownTable("only_a_hint.csv", "sep=;\n", refused="has no entries, only marks that separate them"),
    KnownTable("two_headers.csv", rows("A,A,B", "x,y,z", *BODY), refused=r"texts above numbers, .*\(x, y, z\)"),
    KnownTable("types.csv", rows("a,b,c", "int,int,float", *BODY), ABC,
               ("holds types and is no row: int, int, float",)),
    KnownTable("header_again.csv", rows("a,b,c", *BODY[:2], "a,b,c", *BODY[2:]), ABC,
               ("Left out: 1 line with the names of the columns once more.",)),
    KnownTable("end_of_dos.csv", rows("a,b,c", *BODY) + "\x1a", ABC,
               ("The mark of DOS for the end of a file was left",)),
    KnownTable("many_returns.csv", "a,b\r\r\n1,2\r\r\n3,5\r\r\n", {"a": [1, 3], "b": [2, 5]}),
    KnownTable("decimal_commas_between_commas.csv", rows("time,value", "1,5,2", "1,7,3", "2,5,7"),
               refused="name no rows; if commas are decimal marks"),
    KnownTable("thousands_between_commas.csv", rows("name,price", "x,1,200", "y,2,300"), {"price": [200, 300]},
               ("If commas are also in numbers, separate columns by another character.",)),
    KnownTable("long_header.csv", rows(",".join([*WIDE, WIDE[0]]), *[",".join([x] * 2501) for x in ("1.5", "7.5")]),
               {WIDE[-1]: [1.5, 7.5], f"{WIDE[0]} (2)": [1.5, 7.5]}, ("were changed",)),
    KnownTable("long_entry.csv", rows("a,b", *[f'{i},"{"x" * 150_000}{i}"' for i in (4, 2)]), {"a": [4, 2]}),
    KnownTable("name_of_polars.csv", rows("a,a_duplicated_0,a", "1,2,3", "4,7,5"),
               {"a_duplicated_0": [2, 7], "a (2)": [3, 5]}),
    KnownTable("quotes_inside.csv", rows("n,size", '1,5" pipe', '4,"6 in, long"', '7,7" pipe'),
               {"n": [1, 4, 7], "size": ['5" pipe', "6 in, long", '7" pipe']}),
    KnownTable("quoted_word.csv", rows("n,text", '1,"Hello" she said', "2,foo"),
               {"text": ["Hello she said", "foo"]}),
    KnownTable("one_too_many.csv", rows("# x", "a,b", "1,2", '"4",5', "6,7,8"),
               refused="line 5 has 3 entries, and the"),
    KnownTable("lines.csv", rows('{"a":1,"b":2}', '{"a":2,"b":5}'), refused="holds JSON"),
    KnownTable("deep.csv", rows("[" * 50_000, "1", "5"), {"[" * 50_000: [1, 5]}),
    KnownTable("list.csv", '[{"a":1},\n {"a":2}]', refused="holds JSON"),
    KnownTable("packed.csv", gzip.compress(b"a,b\n1,2\n3,5\n"), {"a": [1, 3], "b": [2, 5]}),
    KnownTable("no_utf16.csv", rows("a,b", "1,2"), refused="is not utf-16 text but UTF-8",
               options={"encoding": "utf-16"}),
    KnownTable("halves.csv", rows("a,b", "1,\\ud800"), refused="holds halves of characters",
               options={"encoding": "raw_unicode_escape"}),
]  # fmt: skip


def with_word(word: str) -> KnownTable:
    """A column of 25 numbers with decimal commas, and a word that comes three times."""
    numbers = [i + 0.5 for i in range(25)]
    lines = [f"{i},5;{i * 7 % 5}" for i in range(25)] + [f"{word};1"] * 3
    name = "".join(letter if letter.isalnum() else str(ord(letter)) for letter in word)
    return KnownTable(f"missing_{name}.csv", rows("a;b", *lines), {"a": [*numbers, None, None, None]})


MISSING = [
    *map(with_word, ("n.a.", "k.A.", "N/A ", "missing", "None", "NONE", "unknown", "Nan", r"\N", "(null)", ".",
                     "\u2014",
                     "#NV", "#N/V", "#WERT!", "#\xa1DIV/0!", "1.#IND", "keine Angabe", "\u043d\u0435\u0442")),
    KnownTable("named_words.csv", rows("a,b", *[f"{i / 2},{i * 7 % 5}" for i in range(25)], "oops,2", "Oh no,3",
                                        "oops,1"),
               {"a": [*(i / 2 for i in range(25)), None, None, None]},
               ('a: 3 entries are not a number and count as missing: "oops" (2), "Oh no" (1).',)),
    KnownTable("words_with_digits.csv", rows("a,b", *[f"{i},{i * 7 % 5}" for i in range(0, 60, 2)], *["60+,3"] * 9),
               {"a": [*map(str, range(0, 60, 2)), *["60+"] * 9]}),
    KnownTable("few_values_and_a_level.csv", rows("a,b", *[f"{i % 3},{i}.5" for i in range(30)], *["high,1.5"] * 4),
               {"a": [*[str(i % 3) for i in range(30)], *["high"] * 4]}),
    KnownTable("codes_and_a_word.csv", rows("zip,n", "01234,1", "12345,5", "00501,2", "00502,7", "unknown,3"),
               {"zip": ["01234", "12345", "00501", "00502", "unknown"]}),
]  # fmt: skip

DIGITS = [
    KnownTable(
        "arabic.csv", rows("a,b", "\u0661.\u0665,2", "\u0662\u066b\u0665,3", "\u0663.\u0665,7"), {"a": [1.5, 2.5, 3.5]}
    ),
    KnownTable("full_width.csv", rows("a,b", "\uff11\uff12.\uff15,2", "1.5,3", "\uff17,7"), {"a": [12.5, 1.5, 7]}),
    KnownTable("whole_arabic.csv", rows("a,b", "\u0661\u0662,2", "\u0662\u0665,3"), {"a": [12, 25]}),
    KnownTable(
        "arabic_names.csv", rows("a,b", "n\u0661,2", "n\u0662,3", "n\u0661,4"), {"a": ["n\u0661", "n\u0662", "n\u0661"]}
    ),
]

MARKS_IN_FILES = [
    KnownTable("points_beside_commas.csv", rows("p;q", "1.5;2,5", "2.5;3,5", "7.5;4,25"), {"p": [1.5, 2.5, 7.5]},
               ("Decimal marks are points in p, and commas in q.",)),
    KnownTable("thousands_among_commas.csv", rows("p;n", "2,5;1", "1.234;2", "3,75;7"), {"p": [2.5, 1234, 3.75]},
               ('such as "2,5" as 2.5 and "1.234" as 1234.',)),
    KnownTable("asked_decimal.parquet", binary(pl.DataFrame({"p": ["1,200", "2,300"], "n": [1, 5]}).write_parquet),
               {"p": [1.2, 2.3]}, ('"1,200" as 1.2.',), options={"decimal": ","}),
    KnownTable("asked_thousands.arrow", binary(pl.DataFrame({"p": ["1.200", "2.300"], "n": [1, 5]}).write_ipc),
               {"p": [1200, 2300]}, ('"1.200" as 1200.',), options={"thousands": "."}),
    KnownTable("proof_of_others.parquet",
               binary(pl.DataFrame({"p": ["1.200", "2.300"], "q": ["1,5", "2,5"]}).write_parquet),
               {"p": [1200, 2300], "q": [1.5, 2.5]}, ('"1.200" as 1200; if the mark means something else',)),
    KnownTable("words.parquet", binary(pl.DataFrame({"p": ["1.5", "2.5", "7", "missing"]}).write_parquet),
               {"p": [1.5, 2.5, 7, None]}, ('p: 1 entry is not a number and counts as missing: "missing" (1).',)),
    KnownTable("compact_days.csv", rows("d,n", "20240131,1", "20241231,5"),
               {"d": [DAY(2024, 1, 31), DAY(2024, 12, 31)]}, ('"20240131" as 2024-01-31.',)),
    KnownTable("compact_days.npz", binary(lambda f: np.savez(f, d=np.array([20240131, 20241231]), n=np.array([1, 5]))),
               {"d1": [DAY(2024, 1, 31), DAY(2024, 12, 31)]}, ('"20240131" as 2024-01-31.',)),
    KnownTable("no_days.csv", rows("d,n", "20240131,1", "20241331,5"), {"d": [20240131, 20241331]}),
    KnownTable("placeholders_of_numbers.csv",
               rows("a,b", *[f"{(-99, 4, 9, 1, 7, 3)[i % 6]},{i * i}" for i in range(18)]),
               {}, ("a: 3 entries are -99, which may stand for nothing; if so, leave them empty.",)),
    KnownTable("colliding.npz", binary(lambda f: np.savez(f, x=np.array([[1, 2], [3, 5]]), x1=np.array([7, 9]))),
               {"x1": [1, 3], "x2": [2, 5], "x1 (2)": [7, 9]}, ("were changed: x1 (2)",)),
    KnownTable("reasons.npz", binary(
        lambda f: np.savez(f, X=np.arange(8.0).reshape(2, 4) ** 2, Y=np.ones((2, 2)), z=np.ones(2) * 1j, w=np.ones(3))),
        {"X1": [0, 16]}, ("having several columns: Y", "being of type complex128: z", "having another length: w")),
    KnownTable("sparse.npz", binary(
        lambda f: np.savez(f, indices=[0], indptr=[0, 1], format=b"csr", shape=(1, 2), data=np.ones(9))),
        refused="holds a sparse matrix of SciPy"),
    KnownTable("objects.npy", binary(lambda f: np.save(f, np.array([{}, None]), allow_pickle=True)),
               refused="holds objects of Python"),
    KnownTable("text.npy", b"a,b\n1,2\n", refused="holds no arrays of NumPy"),
    KnownTable("text.arrow", b"a,b\n1,2\n", refused="is no Arrow file"),
]  # fmt: skip

KNOWN_TABLES = [
    *UNITS, *NUMBERS, *DIALECTS, *DATES, *BINARY, *HEADERS, *MISSING, *DIGITS, *MARKS_IN_FILES,
]  # fmt: skip
