"""Masking: finds secrets in text, known ones by fingerprints of their spellings, others by their form."""
