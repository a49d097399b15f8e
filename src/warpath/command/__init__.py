"""The language a driver speaks to a GPU: methods, pushbuffers, ring entries, doorbells, QMDs, constant bank
0.

Everything here is a pure encoder and decoder over bytes; the tables are data files derived from NVIDIA's
public class headers. What a table does not name is kept with its raw address and value, never dropped.
"""
