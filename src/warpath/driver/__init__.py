"""The model's user-mode driver: what libcuda does between an API call and the doorbell, in the open."""
