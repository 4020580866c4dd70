"""One file for each family of operations, and what they share."""
