"""Oddities of one column: what a careful person would want to know of its dates, labels, numbers and notation."""
