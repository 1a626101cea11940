"""One adapter for each peer, all of one shape (bench/side.py): how to schedule, and the peer's own commands for its roles.

One rule for all. Ten tasks at once in a worker process is the condition of the experiments, whatever number a page shows
(docket's 20 and 50, BullMQ's 100 to 300). Everything else, the times after which a task is delivered again among it, is
what the peer's documentation recommends for production, and its default where nothing is recommended; the head of each
file names the pages. Cancelling is one call for each task, as many at once as the peer's client gains from; the head says
how many.
"""
