"""Speed patches: marimo's kernel with the same answers in a fraction of the time, each one removable.

Owns:   exchanging slow functions of marimo's for ours, the lean hooks, what a zygote should have imported.
Above:  the driver.   Below: marimo.
Never:  a change in what a notebook computes; a patch on code it does not recognise.

`swap` puts the patches in and takes them out, `audience` has the lean hooks, `warm` the imports; each other module is
one patch.
"""
