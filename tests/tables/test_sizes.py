"""What files take in memory is known before they are read: small files that would take much are refused."""

import base64
import io
import struct

import numpy as np
import polars as pl
import pytest

from mercer.tables import binary, memory
from mercer.tables.arrow_sizes import arrow_bytes
from mercer.tables.errors import InputError, MemoryRefusal
from mercer.tables.frame_sizes import frame_bytes
from mercer.tables.parquet_sizes import parquet_bytes
from mercer.tables.reading import read_table

N = 2000
# A megabyte of each kind when it is read, or used, and next to nothing in a file.
TEXTS = pl.DataFrame({"a": ["x" * 10_000] * N, "b": np.arange(float(N))})
ZEROS = pl.DataFrame({name: np.zeros(50 * N) for name in "abcdefgh"})
MEMORY = 2_000_000


# Texts that are stored as differences (DELTA_BYTE_ARRAY), as polars cannot write: 800 short ones, 400 of 5 kB.
NAMES = (
    r"P(e~L6#x~`78UXYEET{E6%G{!6$Tst001bpFa2Ps1bqnrVhk)PfKLZ==Ymst#2)9j!W+Q=VJ<oA?9d?DMMDYMTkgsJ8vDjAHz*}3"
    r"1Kc*XOgb9eHnmJL91U)pS|%9_M5e=d4AkkQM1A9j_ZG!?m${}k{Sef<zz^?j@eYCdYbsVvtPbq!R+r9ub>26<Ps7YSAV3H=Dt39<"
    r"<yY?!hj*E)O3@!dy+3w&+2wn?yh(%ps^U~{d6z2~N-@wx!TaR>pnl2ja)f~sAbujD1tH`+ppjic1(#u1t1*x&pc?Co)FNe(UZgKl"
    r"i!>!GZN_zT-`0+u9rlBF%aK8#J+jh>OTc#jzBO6Lk&(j`752zz47zaX&M19B+;u|8=x}En$^8&%NB0Tz5eP_*x-AGt;WojV453}x"
    r"At3QUgo%Fah0iQrf^mi21GlOb1Qn106<$mg5)}Xv001bpFa01$H30y?0PsHm0000001!X`0000003t9T04^#(1|YBxS@LDZEY9|r"
    r"R}}yiv<4MoEET{E6%Z8$6$Tst001bpFa2Pe06hT!-~#{v0Kg0Z1b+}RRCb7GMI!+rLuH3}Rx}bzRssN!j-jw<qUIPC1Q|Rv02l^y"
    r"V`yb<VHE@b6$~W;7y)4=08AVJ000#VB?1@$VgMGv3>h35EG7UP6$}|A1`Zh*0bvyk7QhS^{1z6T1tthd92Ec+4iy3bJQk#483q|9"
    r"0Kg0Y001Tc92E)~H2?+>85jX#6$}=@3>J(C7Kj2Sq6Q|W1t}~Q1Qh@k0ss{N6%Z8y06ZxM872V03;+NC7Kk4fzzik`7N!RPC?IfQ"
    r"a&dKKbS-0Wa4lhSa&LDac4cyNX>V>IGBz$SE-@J_8~^|u0002c0000`K~ga"
)
LONG = (
    r"P(e~L6#x~oSrx7UEES*z6%G{!6$Tst001bpFa2Oy6>S0lR09J5005u{0e}GnkOKe!4FCWDh!X&kPLECv0040!PQ-~g5hvnAoQM+u"
    r"crY<CGc+|eH#j*50D~<m5)SCkm02H5syg@xUv?$H1Qi4okO385OcfFp01^NID77#BAV@U<0Kfq7KL7v#0000GKmY&$0000YFdzUf"
    r"DnJGxun$@CWyUPd_Lx@{02QJG6;>=2pavBX6$TXs8~^|SD77#BAkh^80N4Wn005u{0R&|bGE{bmXGJ3cAwy+{cvdtL5CH(sh?-*+"
    r"1Q|Rv02l^yV`yb<VHE@b6$~W;7y)4=08AVJ000#VB?1@$VgMGP1{oX~EG7UP6$}|A1`Zh*0bvyk7N7<e-dPsf0VW7Z92Ec+4iy3b"
    r"JQkps^Z^+L872Ur1^@s6CIB223K=y31`rt-0b&&l7N7<e`UDpI0Vdu8CgK4pEENP502KlN6#x|w6#@V}DFzuP0H6i{000))UKXGR"
    r"CI}YR0{|!>aA9(Bb!BudV{mXSVRCYBcOZ6Ua&u{KZXhx?E-)@J87v$C02}}S0MY;e08l|vF#"
)


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: MEMORY)


def stored(frame, kind, compression="zstd"):
    file = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(file, compression=compression)
    elif kind == "stream":
        frame.write_ipc_stream(file, compression=compression)
    else:
        frame.write_ipc(file, compression=compression)
    return file


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize(("frame", "name"), [(TEXTS, "texts"), (TEXTS.cast({"a": pl.Categorical}), "names"),
                                             (ZEROS, "zeros")])  # fmt: skip
def test_small_files_of_much_are_refused(tmp_path, little_memory, kind, frame, name):
    path = tmp_path / f"{name}.{'arrow' if kind == 'stream' else kind}"
    path.write_bytes(stored(frame, kind).getvalue())
    assert path.stat().st_size < 100_000
    with pytest.raises(
        MemoryRefusal, match=rf"Reading {path.name} would take about [\d.]+ MB of memory, and 1.6 MB can"
    ):
        read_table(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_what_does_not_fit_is_not_even_decompressed(tmp_path, little_memory, monkeypatch, kind):
    path = tmp_path / f"zeros.{kind}"
    path.write_bytes(stored(ZEROS, kind).getvalue())
    monkeypatch.setattr(binary.pl, f"read_{'ipc' if kind == 'arrow' else kind}", lambda file: 1 / 0)
    with pytest.raises(MemoryRefusal, match="would take about"):
        read_table(path)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("kind", ["arrow", "stream"])
def test_sizes_of_arrow_files_are_those_of_their_buffers(kind, compression):
    frame = pl.DataFrame({"a": np.random.default_rng(0).normal(size=5000), "b": np.zeros(5000)})
    assert arrow_bytes(stored(frame, kind, compression)) == 2 * 16 * 5000
    texts = pl.DataFrame({"t": [f"{i:>100}" for i in range(5000)]})
    assert 100 * 5000 <= arrow_bytes(stored(texts, kind, compression)) <= 140 * 5000


def test_pages_are_asked_rather_than_the_footer(monkeypatch):
    """A footer that tells less than the pages do."""
    file = stored(ZEROS, "parquet")
    honest = parquet_bytes(file)
    from mercer.tables import parquet_sizes

    struct_of = parquet_sizes.Compact.struct

    def lying(reader):
        found = struct_of(reader)
        if 9 in found:
            found |= {5: 1, 6: 1}
        return found

    monkeypatch.setattr(parquet_sizes.Compact, "struct", lying)
    # Of each column one page is asked, since its values are more than were told.
    assert 0.1 * honest < parquet_bytes(file) <= honest


def page(**fields):
    """The header of a page of 20 texts of 1000 bytes together, in the compact protocol of Thrift."""

    def number(value):
        value, found = value << 1, b""
        while value > 127:
            found, value = found + bytes([value & 127 | 128]), value >> 7
        return found + bytes([value])

    inner = b"\x15" + number(fields["n"]) + b"\x15" + number(fields["encoding"]) + b"\x15\x06\x15\x06\x00"
    return b"\x15\x00\x15" + number(fields["size"]) + b"\x15" + number(0) + b"\x2c" + inner + b"\x00"


@pytest.mark.parametrize(("encoding", "expected"), [(0, 1000), (7, 20 * 1000)])
def test_texts_that_are_stored_as_differences_are_bounded(encoding, expected):
    from mercer.tables.parquet_sizes import _chunk_bytes

    header = page(n=20, encoding=encoding, size=1000)
    file = io.BytesIO(b"PAR1" + header)
    chunk = {1: 6, 5: 20, 7: len(header), 9: 4}
    assert _chunk_bytes(file, chunk) == expected


def test_texts_that_are_stored_as_differences_are_read_with_a_look_at_the_memory(tmp_path, little_memory):
    for name, content in (("names", NAMES), ("long", LONG)):
        (tmp_path / f"{name}.parquet").write_bytes(base64.b85decode(content))
        with open(tmp_path / f"{name}.parquet", "rb") as file:
            assert 2.0 * parquet_bytes(file) > MEMORY
    frame = read_table(tmp_path / "names.parquet").frame
    assert frame["a"].to_list() == [f"name {i}" for i in range(800)]
    with pytest.raises(MemoryRefusal, match=r"Reading long.parquet would take about .* MB of memory, and 1.6 MB can"):
        read_table(tmp_path / "long.parquet")


def test_very_many_rows_that_may_be_long_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 8_000)
    (tmp_path / "long.parquet").write_bytes(base64.b85decode(LONG))
    with pytest.raises(MemoryRefusal, match="write it with another encoding than differences"):
        read_table(tmp_path / "long.parquet")


def test_headers_with_long_statistics():
    frame = pl.DataFrame({"t": ["a" * 100_000, "b" * 100_000]})
    assert parquet_bytes(stored(frame, "parquet")) > 200_000


@pytest.mark.parametrize("kind", ["arrow", "stream"])
def test_damaged_arrow_files(tmp_path, kind):
    content = stored(pl.DataFrame({"a": np.arange(100.0), "b": ["x"] * 100}), kind).getvalue()
    rng, path = np.random.default_rng(0), tmp_path / "t.arrow"
    n_refused = 0
    for _ in range(150):
        data = bytearray(content)
        for place in rng.integers(len(data), size=3):
            data[place] = rng.integers(256)
        path.write_bytes(bytes(data[: rng.integers(len(data) // 2, len(data) + 1)]))
        try:
            read_table(path)
        except (InputError, MemoryRefusal):
            n_refused += 1
    assert n_refused > 20
    path.write_bytes(content[:-1])
    if kind == "arrow":
        with pytest.raises(
            InputError, match=r"t.arrow cannot be read as a table: it does not end as an Arrow file does"
        ):
            read_table(path)
    path.write_bytes(struct.pack("<Ii", 0xFFFFFFFF, 2**30) + bytes(8))
    with pytest.raises(InputError, match=r"t.arrow cannot be read as a table: its messages are damaged"):
        read_table(path)


def test_equal_texts_count_as_often_as_they_occur():
    texts = ["y" * 1000] * 300
    for dtype in (pl.String, pl.Categorical, pl.Enum(["y" * 1000])):
        assert frame_bytes(pl.DataFrame({"t": pl.Series(texts, dtype=dtype)})) >= 300_000
