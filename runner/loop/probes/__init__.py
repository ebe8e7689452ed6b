"""What the preflights measure with: small batches, updates of known size, comparisons with references."""
