"""Learning on graphs."""
