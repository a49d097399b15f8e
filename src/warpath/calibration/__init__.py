"""Microbenchmarks of a GPU, and what the timing model's parameters are by them."""
