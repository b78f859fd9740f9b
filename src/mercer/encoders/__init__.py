"""Encoders: functions that give coordinates to new rows, learned from rows alone."""

from mercer.encoders.augmentations import Jitter, Mask, Shift
from mercer.encoders.contrastive import ContrastiveFeatures

__all__ = ["ContrastiveFeatures", "Jitter", "Mask", "Shift"]
