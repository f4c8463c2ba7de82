import { rmdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { JOB_RECORDS } from '../../../src/cron-old/job-records.ts';
import { fileStore } from '../../../src/state-old/file-store.ts';
import {
  fromLogRecord,
  openLedger,
  otherLines,
  type RecordFormat,
  readOnce,
  toLogRecord,
} from '../../../src/state-old/ledger.ts';
import { encodeRecord, type NewRecord } from '../../../src/state-old/record.ts';
import type { UnusableLine } from '../../../src/state-old/unusable-lines.ts';
import { temporaryDirectory } from './files.ts';

const AT = '2026-01-02T03:04:05.000Z';
const OWNER = { machine: 'm', pid: 1, started: null };

const JOB = {
  origin: 'https://api.partner.test/v1',
  agent_id: 'agt_1',
  name: 'daily',
  schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
  instructions_hash: 'aa',
  content_hash: 'bb',
};
const UPLOAD = { origin: 'https://api.partner.test/v1', kind: 'attachment', sha256: 'ab', filename: 'a.txt' };

interface UploadSnapshot {
  readonly origin: string;
  readonly kind: string;
  readonly sha256: string;
  readonly filename: string;
  readonly stamp: string | null;
}

const UPLOAD_RECORDS: RecordFormat<UploadSnapshot> = {
  types: {
    reserved: 'upload.sent',
    created: 'upload.done',
    adopted: 'upload.adopted',
    released: 'upload.released',
    unknown: 'upload.unknown',
    forgotten: 'upload.forgotten',
  },
  reservationField: 'sent',
  remoteIdField: 'upload_id',
  noun: 'an upload',
  family: 'upload.',
  decodeSnapshot({ origin, kind, sha256, filename, stamp = null }) {
    if (typeof origin !== 'string' || typeof kind !== 'string') return undefined;
    if (typeof sha256 !== 'string' || typeof filename !== 'string') return undefined;
    return stamp === null || typeof stamp === 'string' ? { origin, kind, sha256, filename, stamp } : undefined;
  },
};

/** Every kind of record as the first version of the program wrote it: state files with these lines exist. */
const JOB_LINES = {
  reserved: { type: 'cron.reserved', at: AT, id: 'r1', key: 'k', ...JOB, owner: OWNER, until: AT, seen: ['cron_0'] },
  blind: { type: 'cron.reserved', at: AT, id: 'r1', key: 'k', ...JOB, owner: OWNER, until: AT, seen: null },
  created: { type: 'cron.created', at: AT, id: 'r2', key: 'k', ...JOB, reservation: 'r1', cron_job_id: 'cron_1' },
  adopted: { type: 'cron.adopted', at: AT, id: 'r3', key: 'k', ...JOB, reservation: null, cron_job_id: 'cron_2' },
  bare: {
    ...JOB,
    type: 'cron.adopted',
    at: AT,
    id: 'r3',
    key: 'k',
    reservation: null,
    cron_job_id: 'cron_2',
    schedule: null,
    instructions_hash: null,
    content_hash: null,
  },
  released: { type: 'cron.released', at: AT, id: 'r4', key: 'k', reservation: 'r1', why: 'http_422' },
  unknown: { type: 'cron.unknown', at: AT, id: 'r5', key: 'k', reservation: 'r1', why: 'no_answer' },
  forgotten: { type: 'cron.forgotten', at: AT, id: 'r6', key: 'k', records: ['r2', 'r3'] },
};
const UPLOAD_LINES = {
  sent: { type: 'upload.sent', at: AT, id: 's1', key: 'k', ...UPLOAD, owner: OWNER },
  done: { type: 'upload.done', at: AT, id: 'd1', key: 'k', ...UPLOAD, sent: 's1', upload_id: 'att_1', stamp: 'st' },
  known: { type: 'upload.done', at: AT, id: 'd2', key: 'k', ...UPLOAD, sent: null, upload_id: 'att_1', stamp: null },
  released: { type: 'upload.released', at: AT, id: 'e1', key: 'k', sent: 's1', filename: 'a.txt', why: 'http_401' },
  unknown: { type: 'upload.unknown', at: AT, id: 'e2', key: 'k', sent: 's1', filename: 'a.txt', why: 'http_502' },
};

describe('a record in the state file', () => {
  it.each(Object.entries(JOB_LINES))('of a job is read and written as in the first version: %s', (_, line) => {
    const record = fromLogRecord(line, JOB_RECORDS);
    expect(record && toLogRecord(record, JOB_RECORDS)).toEqual(line);
  });

  it.each(Object.entries(UPLOAD_LINES))('of an upload is read as in the first version: %s', (_, line) => {
    const record = fromLogRecord(line, UPLOAD_RECORDS);
    const { filename: _filename, ...written } = line;
    expect(record && toLogRecord(record, UPLOAD_RECORDS)).toMatchObject(written);
  });

  it('keeps all of its fields', () => {
    const { owner, until: deadline, seen: remoteIdsSeen } = JOB_LINES.reserved;
    expect(fromLogRecord(JOB_LINES.reserved, JOB_RECORDS)).toEqual({
      kind: 'reserved',
      id: 'r1',
      at: AT,
      key: 'k',
      snapshot: JOB,
      owner,
      deadline,
      remoteIdsSeen,
    });
    expect(fromLogRecord(UPLOAD_LINES.done, UPLOAD_RECORDS)).toEqual({
      kind: 'created',
      id: 'd1',
      at: AT,
      key: 'k',
      snapshot: { ...UPLOAD, stamp: 'st' },
      reservation: 's1',
      remoteId: 'att_1',
    });
    expect(fromLogRecord(UPLOAD_LINES.sent, UPLOAD_RECORDS)).toMatchObject({ deadline: null, remoteIdsSeen: null });
  });

  it.each([
    ...Object.keys(JOB_LINES.reserved).map((field) => [JOB_LINES.reserved, field] as const),
    ...Object.keys(JOB_LINES.created).map((field) => [JOB_LINES.created, field] as const),
    ...Object.keys(JOB_LINES.unknown).map((field) => [JOB_LINES.unknown, field] as const),
    ...Object.keys(JOB_LINES.forgotten).map((field) => [JOB_LINES.forgotten, field] as const),
  ])('of a job is not used if a field has the wrong type: %o with %s', (line, field) => {
    if (field === 'at' || field === 'id') return;
    expect(fromLogRecord({ ...line, [field]: 7 }, JOB_RECORDS)).toBeUndefined();
  });

  it.each([
    ...['key', 'origin', 'kind', 'sha256', 'filename', 'owner'].map((field) => [UPLOAD_LINES.sent, field] as const),
    ...['sent', 'upload_id', 'stamp'].map((field) => [UPLOAD_LINES.done, field] as const),
    ...['sent', 'why'].map((field) => [UPLOAD_LINES.unknown, field] as const),
  ])('of an upload is not used if a field has the wrong type: %o with %s', (line, field) => {
    expect(fromLogRecord({ ...line, [field]: 7 }, UPLOAD_RECORDS)).toBeUndefined();
  });
});

describe('the ledger of a feature', () => {
  async function ledgerOn(...lines: readonly (NewRecord & Readonly<Record<'key', unknown>>)[]) {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    writeFileSync(path, lines.map((line) => `${encodeRecord(line)}\n`).join(''));
    const unusable: UnusableLine[] = [];
    const ledger = openLedger(fileStore(path).open({ isSkipped: otherLines(UPLOAD_RECORDS) }), UPLOAD_RECORDS, {
      indexName: (record) => ('snapshot' in record ? record.snapshot.filename : undefined),
      onUnusable: async (line) => void unusable.push(line),
    });
    const ids = async (name: string) => (await ledger.read(name)).map(({ id }) => id);
    return { path, ledger, ids, unusable };
  }

  it('has the records of a key, of an index name, and all of them, in log order', async () => {
    const other = { ...UPLOAD_LINES.sent, id: 's2', key: 'k2', filename: 'b.txt' };
    const { ids, ledger } = await ledgerOn(UPLOAD_LINES.sent, JOB_LINES.created, other, UPLOAD_LINES.done);
    expect(await ids('k')).toEqual(['s1', 'd1']);
    expect(await ids('b.txt')).toEqual(['s2']);
    expect((await ledger.readAll()).map(({ id }) => id)).toEqual(['s1', 's2', 'd1']);
  });

  it('sees records appended since, without changing earlier results', async () => {
    const { ledger } = await ledgerOn(UPLOAD_LINES.sent);
    const before = await ledger.read('k');
    await ledger.append({ kind: 'released', id: 'e9', at: AT, key: 'k', reservation: 's1', reason: 'test' });
    expect((await ledger.read('k')).map(({ id }) => id)).toEqual(['s1', 'e9']);
    expect(before.map(({ id }) => id)).toEqual(['s1']);
  });

  it('is complete for each of several concurrent readers', async () => {
    const lines = Array.from({ length: 2_000 }, (_, index) => ({ ...UPLOAD_LINES.known, id: `d${index}` }));
    const { ledger } = await ledgerOn(...lines, { ...UPLOAD_LINES.known, id: 'last', key: 'k2' });
    const found = await Promise.all(['k', 'k2', 'k2'].map((name) => ledger.read(name)));
    expect(found.map((records) => records.length)).toEqual([2_000, 1, 1]);
  });

  it('starts over if another file replaces the log', async () => {
    const { path, ids } = await ledgerOn(UPLOAD_LINES.sent, UPLOAD_LINES.done);
    expect(await ids('k')).toEqual(['s1', 'd1']);
    writeFileSync(path, `${encodeRecord(UPLOAD_LINES.sent)}\n`);
    expect(await ids('k')).toEqual(['s1']);
  });

  it('can be read once the log is readable again', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    await mkdir(path);
    const ledger = openLedger(fileStore(path).open(), UPLOAD_RECORDS, { onUnusable: async () => undefined });
    await expect(ledger.read('k')).rejects.toThrow('state file');
    rmdirSync(path);
    writeFileSync(path, `${encodeRecord(UPLOAD_LINES.sent)}\n`);
    expect(await ledger.read('k')).toHaveLength(1);
  });

  it('reports an incomplete record, and a line whose type is damaged', async () => {
    const incomplete = { ...UPLOAD_LINES.sent, owner: null };
    const { path, ledger, unusable } = await ledgerOn(UPLOAD_LINES.sent, incomplete);
    writeFileSync(path, `${encodeRecord(UPLOAD_LINES.done).replace('upload.done', 'upload.dome')}\n`, { flag: 'a' });
    expect(await ledger.read('k')).toHaveLength(1);
    expect(unusable).toEqual([
      { line: 2, why: 'not a complete record of an upload' },
      { line: 3, why: 'changed after it was written: its checksum does not match' },
    ]);
  });
});

describe('a ledger that is read once', () => {
  it('is read again only for a key with an open reservation', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    const reserved = { ...JOB_LINES.reserved, id: 'r9', key: 'open' };
    writeFileSync(
      path,
      [JOB_LINES.reserved, JOB_LINES.created, reserved].map((line) => `\n${encodeRecord(line)}`).join(''),
    );
    let reads = 0;
    const store = fileStore(path).open();
    const counted = {
      ...store,
      readNew() {
        reads += 1;
        return store.readNew();
      },
    };
    const ledger = await readOnce(openLedger(counted, JOB_RECORDS, { onUnusable: async () => undefined }));
    expect((await ledger.read('k')).map(({ id }) => id)).toEqual(['r1', 'r2']);
    expect(await ledger.read('none')).toEqual([]);
    expect(reads).toBe(1);
    expect((await ledger.read('open')).map(({ id }) => id)).toEqual(['r9']);
    expect(reads).toBe(2);
  });
});
