"""Providers behind one method: pydantic-ai's models over the SDKs, with failures in one vocabulary."""
