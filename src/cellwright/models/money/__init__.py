"""Money: what calls cost and may cost, and the ledger of them: every call, written before it is sent and when it ends.

Promises: what a method wrote survives kill -9 and a power cut; no id is sent twice unknowingly; every use is counted
once; an unknown price is never 0.   Never: deciding (that is `policy`), sending, keys.
"""
