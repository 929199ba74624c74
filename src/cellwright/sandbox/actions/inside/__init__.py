"""What runs inside the action worker's cage: monty's processes, and a loop that answers one host.

Started by path, so nothing here imports anything of ours but its neighbours; the standard library only.
"""
