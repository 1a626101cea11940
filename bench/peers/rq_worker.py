"""RQ's worker as its page "Workers", "Performance Notes", writes it: the module of the jobs is imported before the fork."""

from rq import Worker

from bench.peers import rq

# Where new processes are not forks, the scheduler's imports this file again.
if __name__ == "__main__":
    Worker([rq.queue], connection=rq.connection).work(with_scheduler=True, logging_level="WARNING")
