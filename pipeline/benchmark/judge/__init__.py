"""Whether variants agree, and which is faster: statistics and verdicts."""
