"""Statistics of columns that merge: of blocks, of partitions, of batches."""
