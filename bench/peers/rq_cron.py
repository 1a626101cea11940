"""What `rq cron` reads: one job a year, so that the scheduler has something to wait for."""

from rq import cron

from bench.peers.rq import run

cron.register(run, queue_name="default", args=("n0 0 ",), cron="0 0 1 1 *")
