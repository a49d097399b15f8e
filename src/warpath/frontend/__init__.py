"""The model GPU's front end: it fetches ring entries, decodes methods and carries them out on memory.

It is given nothing but memory and doorbells, as the hardware is; kernels run on the compiled core.
"""
