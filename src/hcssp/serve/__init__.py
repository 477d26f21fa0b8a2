"""A live planner in the browser: the server, its sessions, and the worker process of each."""
