"""What a run hands over: the delivery and its check, a notebook put in order, its header and data, and the report."""
