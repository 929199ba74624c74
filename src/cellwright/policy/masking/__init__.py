"""Masking: finds secrets in text, known ones by fingerprints of their spellings, others by their form."""

from cellwright.policy.masking.masker import Masked, Masker, Secret, SecretFinding
from cellwright.policy.masking.stream import MaskingStream

__all__ = ["Masked", "Masker", "MaskingStream", "Secret", "SecretFinding"]
