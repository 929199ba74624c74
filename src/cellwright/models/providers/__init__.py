"""Providers behind one method: pydantic-ai's models over the SDKs, what models lack made up for, failures in one vocabulary."""
