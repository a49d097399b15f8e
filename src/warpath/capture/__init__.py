"""The real path: records a CUDA program on a machine with a GPU, and decodes the recording anywhere.

The recorder (`src/shim/interposer*.c`) decides nothing; everything with a name is found here, offline, with the same
`command` decoders that the model uses.
"""
