"""File stores: buckets and file servers, each kind behind one small protocol.

Owns:   listing, sizes and versions, ranges of bytes; paths that stay inside of what a connection names.
Above:  the worker process of a connection, the only one that opens a store.   Below: data's values, errors.
Never:  writes, follows a path outside, decides what may be asked.
"""
