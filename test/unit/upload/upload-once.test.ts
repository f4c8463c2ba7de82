import { describe, expect, it } from 'vitest';
import type { StreamedBody } from '../../../src/api/streamed-body.ts';
import { CredentialsError, InterruptedError, LocalError, OutcomeUnknownError } from '../../../src/errors.ts';
import type { LogRecord } from '../../../src/state-old/record.ts';
import { type UploadDeps, uploadOnce } from '../../../src/upload/upload-once.ts';
import type { UploadSource } from '../../../src/upload/upload-source.ts';
import { sha256 } from '../../support/forms.ts';
import { memoryLedger, memorySource } from './engine.ts';
import { GOOD, type Process, World } from './world.ts';

const FILE = memorySource('a.txt', 'one', 'stamp-1');
const HASH = sha256('one');

const PLAIN = { force: false, retryUnknown: false };

/** The dependencies of an upload without other processes. */
function alone(
  post: UploadDeps['post'],
  log: LogRecord[] = [],
  write = async (record: LogRecord): Promise<void> => void log.push(record),
): UploadDeps {
  let ids = 0;
  return {
    origin: 'https://api.partner.test/v1',
    kind: 'attachment',
    ledger: memoryLedger(log, write),
    clock: { now: () => 0, monotonic: () => 0, sleep: async () => undefined },
    newId: () => {
      ids += 1;
      return `i${ids}`;
    },
    owner: { machine: 'here', pid: 1, started: null },
    hasEnded: async () => false,
    abortSignal: new AbortController().signal,
    inTurn: (send) => send(),
    reservesFirst: false,
    isShared: false,
    post,
  };
}

/** A world in which another process acts after this one has read the state file and before it reserves the file. */
function overtaking(by: () => Promise<unknown>, afterwards: () => void = () => undefined): World {
  let turns = 0;
  const world = new World(async () => {
    turns += 1;
    if (turns > 5) afterwards();
    // The steps before it: two reads of the state file, two chunks, and the start of the POST.
    if (turns === 5) await by();
  });
  return world;
}

describe('a file that is uploaded', () => {
  it('is skipped under another path with the same name, and its stamp there is recorded', async () => {
    const world = new World();
    await world.process().upload(FILE);
    const elsewhere = memorySource('a.txt', 'one', 'stamp-2');
    const skipped = { status: 'skipped', sha256: HASH, id: 'att_1' };
    expect(await world.process().upload(elsewhere)).toEqual(skipped);
    expect(world.types()).toEqual(['sent', 'done', 'done']);
    expect(await world.process().upload(elsewhere)).toEqual(skipped);
    expect(world.types()).toEqual(['sent', 'done', 'done']);
  });

  it('is skipped when the state file can no longer be written', async () => {
    const world = new World();
    await world.process().upload(FILE);
    const readOnly = world.process({ ...GOOD, failsAt: 1 });
    expect(await readOnly.upload(memorySource('a.txt', 'one', 'stamp-2'))).toMatchObject({ status: 'skipped' });
  });

  it('is reported with its id when it cannot be recorded', async () => {
    const world = new World();
    const outcome = await world.process({ ...GOOD, failsAt: 2 }).upload(FILE);
    expect(outcome).toMatchObject({ status: 'uploaded', id: 'att_1', unrecorded: expect.any(LocalError) });
    expect(await world.process().upload(FILE)).toMatchObject({ status: 'unknown' });
  });
});

describe('a file whose response is lost', () => {
  it('by a process on another machine is unknown, and can be retried', async () => {
    const world = new World();
    await world.process({ ...GOOD, diesAt: 11 }).upload(FILE);
    const [sent] = world.log;
    if (sent?.type !== 'upload.sent') throw new Error('It was not recorded.');
    world.log[0] = { ...sent, owner: { machine: 'elsewhere', pid: 99, started: null } };
    expect(await world.process().upload(FILE)).toMatchObject({ status: 'unknown' });
    expect(await world.process().upload(FILE, { retryUnknown: true })).toMatchObject({ status: 'uploaded' });
  });
});

describe('two processes that upload the same file concurrently', () => {
  it('send it once when the other one finishes just before this one reserves it', async () => {
    const world: World = overtaking(() => world.process().upload(FILE));
    const outcome = await world.process().upload(FILE);
    expect(world.violations).toEqual([]);
    expect(world.made).toHaveLength(1);
    expect(outcome).toMatchObject({ status: 'skipped', id: 'att_1' });
    expect(world.types()).toEqual(['sent', 'done', 'sent', 'released']);
  });

  it.each([
    ['lost', { attempts: ['lost'] }, ['sent', 'unknown', 'sent', 'released']],
    ['was killed over', { diesAt: 11 }, ['sent', 'sent', 'released']],
  ] as const)('do not repeat what the other one %s at the same moment', async (_, fate, types) => {
    const world: World = overtaking(() => world.process({ ...GOOD, ...fate }).upload(FILE));
    expect(await world.process().upload(FILE)).toMatchObject({ status: 'unknown' });
    expect(world.made).toHaveLength(1);
    expect(world.types()).toEqual(types);
  });

  it('continue if they were the first to reserve it', async () => {
    const world: World = new World(async () => {
      const [first, ...others] = world.log;
      if (first?.type !== 'upload.sent' || others.length > 0) return;
      world.log.push({ ...first, id: 'later', owner: { ...Object(first.owner), pid: other.pid } });
    });
    const other = world.process();
    expect(await world.process().upload(FILE)).toMatchObject({ status: 'uploaded' });
    expect(world.types()).toEqual(['sent', 'sent', 'done']);
  });

  it('report that the other one is still uploading it', async () => {
    const world: World = overtaking(async () => {
      const other = world.process({ ...GOOD, diesAt: 11 });
      await other.upload(FILE);
      other.isOver = false;
    });
    const outcome = await world.process().upload(FILE, { retryUnknown: true });
    expect(outcome).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('Another process') } });
    expect(world.types().at(-1)).toBe('released');
  });

  it('reserve it again after giving way, and continue once the other one is gone', async () => {
    let other: Process | undefined;
    const world: World = overtaking(
      async () => {
        const killed = world.process({ ...GOOD, diesAt: 11 });
        await killed.upload(FILE);
        killed.isOver = false;
        other = killed;
      },
      () => {
        if (other && world.types().at(-1) === 'released') other.isOver = true;
      },
    );
    expect(await world.process().upload(FILE, { retryUnknown: true })).toMatchObject({ status: 'uploaded' });
    expect(world.types()).toEqual(['sent', 'sent', 'released', 'sent', 'done']);
    expect(world.violations).toEqual([]);
  });
});

describe('an attempt that ends while the reservation is being written', () => {
  /** Ends the first attempt in the middle of the append, and records what is on disk when the second one is complete. */
  async function secondAttempt(append: () => Promise<void>) {
    const log: LogRecord[] = [];
    const whenComplete: string[][] = [];
    let began = (): void => undefined;
    const appending = new Promise<void>((resolve) => {
      began = resolve;
    });
    let appends = 0;
    async function post(body: StreamedBody): Promise<string> {
      const first = new AbortController();
      const chunks = body.chunks(first.signal)[Symbol.asyncIterator]();
      await chunks.next();
      chunks.next().catch(() => undefined);
      await appending;
      first.abort();
      let bytes = 0;
      const second = new AbortController();
      for await (const chunk of body.chunks(second.signal)) {
        bytes += chunk.length;
        if (bytes === body.bytes) whenComplete.push(log.map(({ type }) => type));
      }
      return 'att_1';
    }
    const deps = alone(post, log, async (record) => {
      appends += 1;
      if (appends === 1) {
        began();
        await append();
      }
      log.push(record);
    });
    const outcome = await uploadOnce({ ...PLAIN, source: FILE }, deps, () => undefined);
    return { outcome, whenComplete };
  }

  it('is followed by one that completes only once the reservation is on disk', async () => {
    const { outcome, whenComplete } = await secondAttempt(() => new Promise((resolve) => setTimeout(resolve, 50)));
    expect(whenComplete).toEqual([['upload.sent']]);
    expect(outcome).toMatchObject({ status: 'uploaded', id: 'att_1' });
  });

  it('is followed by none that completes if the reservation fails', async () => {
    const { outcome, whenComplete } = await secondAttempt(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      throw new LocalError('The disk is full.');
    });
    expect(whenComplete).toEqual([]);
    expect(outcome).toMatchObject({ status: 'failed', error: { message: 'The disk is full.' } });
  });
});

describe('a response that arrives before the form is closed', () => {
  const UNREADABLE: UploadSource = {
    ...FILE,
    // biome-ignore lint/correctness/useYield: it fails at once
    async *content() {
      throw new LocalError('It cannot be read.');
    },
  };

  async function answered(source: UploadSource, post: UploadDeps['post']) {
    const log: LogRecord[] = [];
    const abortSignal = AbortSignal.abort(new InterruptedError('Interrupted.'));
    const outcome = await uploadOnce({ ...PLAIN, source }, { ...alone(post, log), abortSignal }, () => undefined);
    return { outcome, types: log.map(({ type }) => type) };
  }

  const lost = async (): Promise<string> => {
    throw new OutcomeUnknownError('Lost.');
  };

  it('is recorded even if the run is over by then', async () => {
    const { outcome, types } = await answered(FILE, async () => 'att_1');
    expect(outcome).toEqual({ status: 'uploaded', id: 'att_1', sha256: HASH });
    expect(types).toEqual(['upload.done']);
  });

  it('is reported with its id even if the file cannot be read again', async () => {
    const { outcome } = await answered(UNREADABLE, async () => 'att_1');
    expect(outcome).toMatchObject({ status: 'uploaded', id: 'att_1', unrecorded: expect.any(LocalError) });
  });

  it('and is lost leaves the file unknown even if the run is over by then', async () => {
    const { outcome, types } = await answered(FILE, lost);
    expect(outcome).toMatchObject({ status: 'unknown', sha256: HASH, error: { message: 'Lost.' } });
    expect(types).toEqual(['upload.sent', 'upload.unknown']);
  });

  it('and is lost leaves the file unknown even if it cannot be read again', async () => {
    const { outcome } = await answered(UNREADABLE, lost);
    expect(outcome).toMatchObject({ status: 'unknown', since: expect.any(String), error: { message: 'Lost.' } });
  });

  it('and is lost leaves the file unknown even if that cannot be recorded', async () => {
    const full = async (): Promise<void> => {
      throw new LocalError('The disk is full.');
    };
    const outcome = await uploadOnce({ ...PLAIN, source: FILE }, alone(lost, [], full), () => undefined);
    expect(outcome).toMatchObject({ status: 'unknown', sha256: HASH, error: { message: 'Lost.' } });
  });
});

it('an upload that is rejected while its reservation is written is released', async () => {
  const over = new AbortController();
  const log: LogRecord[] = [];
  const deps = alone(
    async (body) => {
      for await (const _ of body.chunks(over.signal));
      throw new CredentialsError('No.', { status: 401 });
    },
    log,
    async (record) => {
      over.abort();
      log.push(record);
    },
  );
  const outcome = await uploadOnce({ ...PLAIN, source: FILE }, deps, () => undefined);
  expect(outcome).toMatchObject({ status: 'failed', error: expect.any(CredentialsError) });
  expect(log.map(({ type }) => type)).toEqual(['upload.sent', 'upload.released']);
});
