import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readLog } from '../../../src/state-old/file-store.ts';
import { encodeRecord } from '../../../src/state-old/record.ts';
import type { LogEntry, ReadOptions } from '../../../src/state-old/store.ts';

/** A new directory that is removed when the test ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-state-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function entries(path: string, options?: ReadOptions): Promise<LogEntry[]> {
  const all: LogEntry[] = [];
  for await (const entry of readLog(path, options)) all.push(entry);
  return all;
}

/** The ids of the records that are read, in order. */
export async function ids(path: string, options?: ReadOptions): Promise<string[]> {
  return (await entries(path, options)).flatMap((entry) => (entry.kind === 'record' ? [entry.record.id] : []));
}

/** A record's line, as the log writes it. */
export function lineOf(id: string, fields: Readonly<Record<string, unknown>> = {}): string {
  return encodeRecord({ ...fields, type: 'note', at: '2026-01-02T03:04:05.000Z', id });
}

export async function text(path: string): Promise<string> {
  return readFile(path, 'utf8');
}
