"""Masking: finds secrets in text, known ones by prints of their forms and others by their look."""

from cellwright.policy.masking.masker import Masked, Masker, Secret, SecretFinding
from cellwright.policy.masking.stream import MaskingStream

__all__ = ["Masked", "Masker", "MaskingStream", "Secret", "SecretFinding"]
