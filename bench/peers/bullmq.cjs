// BullMQ: the client (lines of JSON, as bench/side.py) and, with the argument "worker", a worker. Each choice, and the page
// of its documentation that it follows:
//
// - the queue fails at once while the server is away, the worker waits for it: "Going to production", reconnections.
// - completed jobs are removed: "Going to production", "Auto-removal of jobs".
// - addBulk for many: "Adding jobs in bulk".
// - concurrency 10: "Parallelism and concurrency" has 100 to 300 for jobs that wait for something; ten, to compare like with like.
// - lockDuration, stalledInterval (30 s both), drainDelay (5 s): the defaults; no page advises others ("Stalled").
// - cancelling: 200 calls of job.remove at a time, for one connection takes them all without waiting.
// - error handlers, an orderly end on SIGTERM: "Going to production".

const { Queue, Worker } = require("bullmq");
const fs = require("fs");
const path = require("path");
const readline = require("readline");

const url = new URL(process.env.BENCH_URL);
const connection = { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null };
const out = process.env.BENCH_OUT;
// Epoch ms with its fractions, within 10 us of Python's time.time(); Date.now() reads up to 1 ms early.
const now = () => performance.timeOrigin + performance.now();
const ns = (ms) => BigInt(Math.round(ms * 1000)) * 1000n;
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

// Python's handlers count in a page of memory that others read; Node has no such page, and a write for each run would be
// a system call for each. So the count is written a few ms after the first run that it lacks, whole and at once.
const FLUSH_MS = 5;
const tally = { file: null, runs: 0, first: 0, last: 0, flush: null };

function hit(started) {
  if (tally.runs++ === 0) tally.first = started;
  tally.last = started;
  tally.flush ??= setTimeout(flush, FLUSH_MS);
}

function flush() {
  tally.flush = null;
  tally.file ??= fs.openSync(path.join(out, `tally-${process.pid}`), "w");
  const slot = Buffer.alloc(24);
  slot.writeBigInt64LE(BigInt(tally.runs), 0);
  slot.writeBigInt64LE(ns(tally.first), 8);
  slot.writeBigInt64LE(ns(tally.last), 16);
  fs.writeSync(tally.file, slot, 0, 24, 0);
}

function mark(number, started) {
  const line = Buffer.alloc(24);
  line.writeBigInt64LE(BigInt(number), 0);
  line.writeBigInt64LE(ns(started), 8);
  line.writeBigInt64LE(BigInt(process.pid), 16);
  fs.appendFileSync(path.join(out, "marks"), line);
}

async function handle(job) {
  const text = job.data;
  const started = now();
  if (text[0] === "n") {
    hit(started);
    return;
  }
  const [number, seconds] = text.slice(1).split(" ");
  mark(number, started);
  if (text[0] === "s") await sleep(Number(seconds));
}

const data = (kind, number, seconds = 0) => `${kind}${number} ${seconds} `.padEnd(100, "x");
const options = (due) => ({
  delay: due == null ? 0 : Math.max(0, Math.round(due * 1000 - Date.now())),
  removeOnComplete: true,
});

class Side {
  constructor() {
    const failing = { ...connection, maxRetriesPerRequest: 1, enableOfflineQueue: false };
    this.queue = new Queue("bench", { connection: failing });
    this.queue.on("error", () => {});
    this.made = [];
  }

  one(due, text) {
    return this.queue.add("run", text, options(due));
  }

  many(tasks) {
    return this.queue.addBulk(tasks.map(([due, text]) => ({ name: "run", data: text, opts: options(due) })));
  }

  describe() {
    const { version } = JSON.parse(fs.readFileSync(path.join(process.env.NODE_PATH, "bullmq/package.json"), "utf8"));
    return {
      versions: { bullmq: version, node: process.version },
      note: "Worker with concurrency 10, removeOnComplete; addBulk for bulk",
      cannot: { batch: "in its paid edition only", tick: "a tick is a delayed task there: see scheduler" },
      reasons: { worker: "stalled jobs are looked for every 30 s" },
      promoter: "worker",
      forgets_s: 0,
      worker: ["node", __filename, "worker"],
      batch_worker: [],
      scheduler: [],
    };
  }

  async marks({ dues, first = 0, kind = "m", seconds = 0 }) {
    await this.many(dues.map((due, at) => [due, data(kind, first + at, seconds)]));
    return {};
  }

  async fill({ number, window, most_s, keep = false }) {
    let done = 0;
    let spent = 0;
    const began = performance.now();
    while (done < number && performance.now() - began < most_s * 1000) {
      const size = Math.min(done ? 2000 : 100, number - done);
      const tasks = Array.from({ length: size }, (_, at) => [due(window), data("n", done + at)]);
      const before = performance.now();
      const jobs = await this.many(tasks);
      spent += performance.now() - before;
      done += size;
      if (keep) this.made.push(...jobs);
    }
    return { number: done, seconds: spent / 1000 };
  }

  async single({ seconds, window, most = 1e9 }) {
    let number = 0;
    const began = performance.now();
    while (number < most && performance.now() - began < seconds * 1000) {
      await this.one(due(window), data("n", 0));
      number++;
    }
    return { number, seconds: (performance.now() - began) / 1000 };
  }

  async acknowledged({ seconds, ahead_s }) {
    const numbers = [];
    const ends = performance.now() + seconds * 1000;
    for (let number = 1; performance.now() < ends; number++) {
      try {
        await this.one(Date.now() / 1000 + Math.random() * ahead_s, data("m", number));
        numbers.push(number);
      } catch {
        await sleep(0.01);
      }
      await sleep(0.002);
    }
    return { numbers };
  }

  async cancel() {
    const began = performance.now();
    for (let at = 0; at < this.made.length; at += 200) {
      await Promise.all(this.made.slice(at, at + 200).map((job) => job.remove()));
    }
    const number = this.made.length;
    this.made = [];
    return { number, seconds: (performance.now() - began) / 1000 };
  }

  bare() {
    return {};
  }
}

function due(window) {
  return window.length ? window[0] + Math.random() * (window.at(-1) - window[0]) : null;
}

async function serve() {
  const side = new Side();
  await side.queue.waitUntilReady();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: name, ...request } = JSON.parse(line);
    let answer;
    try {
      answer = await side[name](request);
    } catch (error) {
      answer = { error: `${error.name}: ${error.message}` };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  process.exit(0);
}

if (process.argv[2] === "worker") {
  const worker = new Worker("bench", handle, { connection, concurrency: 10, removeOnComplete: { count: 0 } });
  worker.on("error", () => {});
  process.on("SIGTERM", () => worker.close().then(() => process.exit(0)));
} else {
  serve();
}
