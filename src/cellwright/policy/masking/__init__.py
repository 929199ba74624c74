"""Masking: finds secrets in text, known ones by fingerprints of their spellings, others by their form."""

from cellwright.policy.masking.masker import Masked, Masker, Secret, SecretFinding

__all__ = ["Masked", "Masker", "Secret", "SecretFinding"]
