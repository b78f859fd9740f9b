"""The old home of `mercer.threads`."""

from mercer.threads import allowed_threads as allowed_threads
from mercer.threads import single_threaded_blas as single_threaded_blas
from mercer.threads import single_threaded_numpy as single_threaded_numpy
