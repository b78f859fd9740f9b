"""Capacity: what a class of functions can do, and what can be promised of a fitted machine."""

from mercer.capacity.leave_one_out import LeaveOneOut, leave_one_out

__all__ = [
    "leave_one_out",
    "LeaveOneOut",
]
