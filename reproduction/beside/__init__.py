"""Outside private learners and ours on the same rows, at the same guarantee."""
