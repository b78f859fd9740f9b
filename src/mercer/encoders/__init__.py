"""Encoders: functions that give coordinates to new rows, learned from rows alone."""

from mercer.encoders.amortized import AmortizedMap
from mercer.encoders.augmentations import Jitter, Mask, Shift
from mercer.encoders.contrastive import ContrastiveFeatures
from mercer.encoders.denoising import KernelDenoiser
from mercer.encoders.linear import best_decoder, best_encoder

__all__ = [
    "AmortizedMap",
    "ContrastiveFeatures",
    "KernelDenoiser",
    "Jitter",
    "Mask",
    "Shift",
    "best_decoder",
    "best_encoder",
]
