"""Data: the generators of the papers, time series and their embedding, and loaders of public sets."""

from mercer.datasets.california import load_california_housing
from mercer.datasets.curves import make_arc, make_semiparametric, make_sinc, make_spiral
from mercer.datasets.ida import load_ida
from mercer.datasets.oil_flow import load_oil_flow
from mercer.datasets.santa_fe import load_santa_fe
from mercer.datasets.splice import load_splice
from mercer.datasets.surfaces import make_s_sheet, make_torus
from mercer.datasets.tables import load_table
from mercer.datasets.time_series import embed, make_mackey_glass
from mercer.datasets.usps import load_usps

__all__ = [
    "make_sinc",
    "make_semiparametric",
    "make_spiral",
    "make_arc",
    "make_s_sheet",
    "make_torus",
    "make_mackey_glass",
    "embed",
    "load_santa_fe",
    "load_ida",
    "load_splice",
    "load_california_housing",
    "load_table",
    "load_oil_flow",
    "load_usps",
]
