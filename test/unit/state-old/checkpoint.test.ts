import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { LocalError } from '../../../src/errors.ts';
import { appendRecord } from '../../../src/state-old/append.ts';
import {
  type CheckpointDeps,
  createCheckpointRecord,
  readCheckpoints as readByKey,
  type SessionCheckpoint,
  TailCheckpoint,
} from '../../../src/state-old/checkpoint.ts';
import { randomRecordId } from '../../../src/state-old/record.ts';
import { type SessionRef, sessionKey } from '../../../src/state-old/session-ref.ts';
import { entries, temporaryDirectory, text } from './files.ts';

const OF = { origin: 'https://api.example.com/v1', source_id: 'src_1' };
const stamp = { now: () => Date.UTC(2026, 0, 2), newId: randomRecordId };
const NOTHING: ReadonlyMap<string, SessionCheckpoint> = new Map();

/** A session of the source. */
function of(session_id: string): SessionRef {
  return { source_id: OF.source_id, session_id };
}

async function appendCheckpoint(
  path: string,
  source: typeof OF,
  session_id: string,
  ...[checkpoint, stamped]: [SessionCheckpoint, typeof stamp]
): Promise<void> {
  await appendRecord(path, createCheckpointRecord({ ...source, session_id }, checkpoint, stamped));
}

/** The checkpoints of sessions of one source, by session_id. */
async function readCheckpoints(
  path: string,
  { origin, source_id }: typeof OF,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SessionCheckpoint>> {
  const sessions = ids.map((session_id) => ({ source_id, session_id }));
  const found = await readByKey(path, origin, sessions);
  return new Map(
    sessions.flatMap((session) => {
      const checkpoint = found.get(sessionKey(session));
      return checkpoint ? [[session.session_id, checkpoint] as const] : [];
    }),
  );
}

async function stateFile(): Promise<string> {
  return join(await temporaryDirectory(), 'state.jsonl');
}

/** A clock that stands still until the test advances it. */
function heldClock() {
  let now = Date.UTC(2026, 0, 2);
  const sleepers: { until: number; wake: () => void }[] = [];
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
        if (signal?.aborted) reject(signal.reason);
        sleepers.push({ until: now + ms, wake: resolve });
      }),
    pass(ms: number) {
      now += ms;
      for (const { until, wake } of sleepers) if (until <= now) wake();
    },
    get asleep() {
      return sleepers.length;
    },
  };
}

function parts(path: string, changes: Partial<CheckpointDeps> = {}): CheckpointDeps {
  const onError = (error: unknown): void => {
    throw error;
  };
  return { path, clock: systemClock, newId: randomRecordId, redact: (text) => text, onError, ...changes };
}

async function messageIds(path: string): Promise<unknown[]> {
  return (await entries(path)).map((entry) => (entry.kind === 'record' ? entry.record.message_id : entry.kind));
}

describe('the recorded checkpoint', () => {
  it('is the last record of the session, of this source and service', async () => {
    const path = await stateFile();
    await appendCheckpoint(path, OF, 'a', { message_id: 'm1', recent: [] }, stamp);
    await appendCheckpoint(path, OF, 'a', { message_id: 'm2', recent: ['m1'] }, stamp);
    await appendCheckpoint(path, OF, 'b', { message_id: 'm3', recent: [] }, stamp);
    await appendCheckpoint(path, { ...OF, source_id: 'src_2' }, 'a', { message_id: 'm4', recent: [] }, stamp);
    await appendCheckpoint(
      path,
      { ...OF, origin: 'https://other.example.com/v1' },
      'a',
      { message_id: 'm5', recent: [] },
      stamp,
    );
    expect(await readCheckpoints(path, OF, ['a', 'c'])).toEqual(new Map([['a', { message_id: 'm2', recent: ['m1'] }]]));
  });

  it('is found by ids with any characters', async () => {
    const path = await stateFile();
    const source = { origin: OF.origin, source_id: 's"\\\n\u0000é' };
    await appendCheckpoint(path, source, '"\u2028', { message_id: '\ud800', recent: [] }, stamp);
    expect(await readCheckpoints(path, source, ['"\u2028'])).toEqual(
      new Map([['"\u2028', { message_id: '\ud800', recent: [] }]]),
    );
  });
});

describe('TailCheckpoint', () => {
  it('records the first message immediately and the last one on close', async () => {
    const path = await stateFile();
    const clock = heldClock();
    const checkpoint = new TailCheckpoint(parts(path, { clock }), OF.origin, NOTHING);
    for (let index = 0; index < 100; index += 1) checkpoint.record(of('s'), `m${index}`);
    await checkpoint.close();
    const ids = await messageIds(path);
    expect(ids.length).toBeLessThanOrEqual(2);
    expect(ids.at(-1)).toBe('m99');
    expect(await readCheckpoints(path, OF, ['s'])).toEqual(
      new Map([['s', { message_id: 'm99', recent: Array.from({ length: 16 }, (_, index) => `m${83 + index}`) }]]),
    );
  });

  it('records the newest message of a busy session every few seconds', async () => {
    const path = await stateFile();
    const clock = heldClock();
    const checkpoint = new TailCheckpoint(parts(path, { clock }), OF.origin, NOTHING);
    checkpoint.record(of('s'), 'm0');
    await expect.poll(() => messageIds(path)).toEqual(['m0']);
    checkpoint.record(of('s'), 'm1');
    checkpoint.record(of('s'), 'm2');
    await expect.poll(() => clock.asleep).toBe(1);
    clock.pass(4_900);
    checkpoint.record(of('s'), 'm3');
    expect(await messageIds(path)).toEqual(['m0']);
    clock.pass(100);
    await expect.poll(() => messageIds(path)).toEqual(['m0', 'm3']);
    clock.pass(60_000);
    await checkpoint.close();
    expect(await messageIds(path)).toEqual(['m0', 'm3']);
  });

  it('continues the recent ids of the earlier checkpoint', async () => {
    const path = await stateFile();
    const before = new Map([[sessionKey(of('s')), { message_id: 'm1', recent: ['m0'] }]]);
    const checkpoint = new TailCheckpoint(parts(path), OF.origin, before);
    checkpoint.record(of('s'), 'm2');
    await checkpoint.close();
    expect((await readCheckpoints(path, OF, ['s'])).get('s')).toEqual({ message_id: 'm2', recent: ['m0', 'm1'] });
  });

  it('keeps sessions separate', async () => {
    const path = await stateFile();
    const checkpoint = new TailCheckpoint(parts(path), OF.origin, NOTHING);
    for (let index = 0; index < 10; index += 1) checkpoint.record(of(index % 2 === 0 ? 'even' : 'odd'), `m${index}`);
    await checkpoint.close();
    const places = await readCheckpoints(path, OF, ['even', 'odd']);
    expect(places.get('even')).toEqual({ message_id: 'm8', recent: ['m0', 'm2', 'm4', 'm6'] });
    expect(places.get('odd')?.message_id).toBe('m9');
  });

  it('keeps sessions of the same name at several sources separate', async () => {
    const path = await stateFile();
    const checkpoint = new TailCheckpoint(parts(path), OF.origin, NOTHING);
    const sessions = ['src_1', 'src_2'].map((source_id) => ({ source_id, session_id: 's' }));
    for (const session of sessions) await checkpoint.record(session, `of-${session.source_id}`);
    await checkpoint.close();
    const found = await readByKey(path, OF.origin, sessions);
    expect(sessions.map((session) => found.get(sessionKey(session))?.message_id)).toEqual(['of-src_1', 'of-src_2']);
    expect(await readByKey(path, OF.origin, [{ source_id: 'src_3', session_id: 's' }])).toEqual(new Map());
  });

  it('reports once that the file cannot be written, and continues', async () => {
    const path = await stateFile();
    await mkdir(path);
    const troubles: unknown[] = [];
    const checkpoint = new TailCheckpoint(
      parts(path, { onError: (error) => troubles.push(error) }),
      OF.origin,
      NOTHING,
    );
    checkpoint.record(of('s'), 'm1');
    await expect.poll(() => troubles.length).toBe(1);
    checkpoint.record(of('s'), 'm2');
    await checkpoint.close();
    expect(troubles).toEqual([expect.any(LocalError)]);
  });

  it('writes only ids', async () => {
    const path = await stateFile();
    await appendCheckpoint(path, OF, 's', { message_id: 'm', recent: [], ...{ text: 'secret' } }, stamp);
    expect(await text(path)).not.toContain('secret');
  });

  it('has recorded every message once record() resolves, even without close()', async () => {
    const path = await stateFile();
    const checkpoint = new TailCheckpoint(parts(path, { clock: heldClock() }), OF.origin, NOTHING);
    for (let index = 0; index < 50; index += 1) {
      await checkpoint.record(of('s'), `m${index}`);
      expect((await readCheckpoints(path, OF, ['s'])).get('s')?.message_id).toBe(`m${index}`);
    }
    expect((await messageIds(path)).length).toBeLessThanOrEqual(1);
    const files = await readdir(`${path}.tails`);
    expect(files).toHaveLength(1);
    expect((await stat(join(`${path}.tails`, files[0] ?? ''))).mode & 0o777).toBe(0o600);
    await checkpoint.close();
  });

  it('prefers the log if it is newer or the checkpoint file is damaged', async () => {
    const path = await stateFile();
    const checkpoint = new TailCheckpoint(parts(path, { clock: heldClock() }), OF.origin, NOTHING);
    await checkpoint.record(of('s'), 'm1');
    await checkpoint.close();
    const later = { ...stamp, now: () => stamp.now() + 1 };
    await appendCheckpoint(path, OF, 's', { message_id: 'm2', recent: [] }, later);
    expect((await readCheckpoints(path, OF, ['s'])).get('s')?.message_id).toBe('m2');
    const again = new TailCheckpoint(parts(path, { clock: heldClock() }), OF.origin, NOTHING);
    await again.record(of('s'), 'm3');
    await again.close();
    const [file = ''] = await readdir(`${path}.tails`);
    await writeFile(join(`${path}.tails`, file), '{"v":1,"torn');
    expect((await readCheckpoints(path, OF, ['s'])).get('s')?.message_id).toBe('m3');
  });

  it('records ids that are too long for a checkpoint file in the log', async () => {
    const path = await stateFile();
    const checkpoint = new TailCheckpoint(parts(path, { clock: heldClock() }), OF.origin, NOTHING);
    const long = 'm'.repeat(5_000);
    for (const id of ['m1', long, 'm'.repeat(3_000)]) await checkpoint.record(of('s'), id);
    expect((await readCheckpoints(path, OF, ['s'])).get('s')).toEqual({ message_id: 'm'.repeat(3_000), recent: [] });
    await checkpoint.record(of('s'), long);
    await checkpoint.close();
    expect((await readCheckpoints(path, OF, ['s'])).get('s')?.message_id).toBe(long);
  });
});
