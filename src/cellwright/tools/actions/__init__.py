"""Programs as actions: an agent's small Python program, run in a cage of its own, paused at every tool call.

`worker` starts and continues programs; `steps` says where one is and words its failures for a model; `signatures`
turns tools into typed stubs, purely. `inside` is what runs in the cage. Who calls the tools, and
whether they may be called, is the caller's matter.
"""
