"""The host's side of a cage: speaking with its init, and what of its changes comes into the project.

`control` speaks, `project_writer` keeps files, `tiers` says how strong a cage this machine can build, `project` and
`git_repository` say what belongs to a project and what is hidden.
"""
