"""What runs inside the action worker's cage: monty's client and its processes, and a loop that answers one host.

Started by path, so nothing here imports anything of ours but its neighbours, the standard library and monty's client.
"""
