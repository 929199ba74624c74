"""Workers: one process for each connection in use, which has its one credential and runs its driver.

Owns:   drivers, sessions, cancelling, types as people use them, results as sealed memory.
Above:  the broker, which starts a worker and is the only one to speak with it.   Below: data's values, errors.
Never:  decides what may be asked: it is told a statement that was judged.
"""
