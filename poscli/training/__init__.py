"""Training a tiny transformer per scheme, to measure what happens past the trained length."""
