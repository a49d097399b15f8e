"""The host side: the program's process, the socket its CUDA calls arrive on, and what each call does."""
