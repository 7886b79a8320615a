"""Where evicted originals are kept."""
