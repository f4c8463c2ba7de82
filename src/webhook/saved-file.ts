import { hash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { describeFileError } from '../cli/input.ts';
import { InputError } from '../errors.ts';
import type { Delivery } from './delivery.ts';

/*
 * A saved delivery is two files: <name>.body has the exact bytes, and <name>.json all else. The second file is written last,
 * so that a delivery without it was never accepted.
 */

const savedSchema = v.object({
  delivery_id: v.string(),
  received_at: v.string(),
  verification: v.picklist(['verified', 'failed', 'unsigned', 'not-checked']),
  reason: v.nullable(v.string()),
  headers: v.array(v.tuple([v.string(), v.string()])),
  bytes: v.number(),
  sha256: v.string(),
  forwarded: v.nullable(v.object({ at: v.string(), status: v.number() })),
});

/** How a delivery was forwarded. */
export interface ForwardedRecord {
  /** In ISO 8601. */
  readonly at: string;
  /** The HTTP status of the target's answer. */
  readonly status: number;
}

/** Returns the content of the second file. */
export function describeSaved(delivery: Delivery, forwarded: ForwardedRecord | null): string {
  const { body, ...rest } = delivery;
  const described = { ...rest, bytes: body.length, sha256: hash('sha256', body, 'hex'), forwarded };
  return `${JSON.stringify(described, null, 2)}\n`;
}

/** Writes a new file that only its owner can read, and waits until it is on disk. */
export async function writeDurably(path: string, content: string | Buffer): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

function unusable(path: string, why: string, cause?: unknown): InputError {
  return new InputError(`${path} is not a saved delivery.`, {
    why,
    hint: 'Name a file or a directory that `webhook listen --save` wrote. Nothing was sent.',
    cause,
  });
}

/**
 * Reads a saved delivery.
 * @param path the file with the description
 * @param bodyPath the file with the bytes
 * @throws InputError if one of them cannot be read, or they do not fit each other
 */
export async function readSaved(path: string, bodyPath: string): Promise<Delivery> {
  let texts: readonly [string, Buffer];
  try {
    texts = await Promise.all([readFile(path, 'utf8'), readFile(bodyPath)]);
  } catch (error) {
    const isBody = error instanceof Error && 'path' in error && error.path === bodyPath;
    throw unusable(path, `${isBody ? `${bodyPath}: ` : ''}${describeFileError(error)}`, error);
  }
  const [text, body] = texts;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw unusable(path, 'It is not JSON.', error);
  }
  const parsed = v.safeParse(savedSchema, json);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw unusable(path, `${v.getDotPath(issue) ?? 'The document'}: ${issue.message}`);
  }
  const { bytes, sha256, forwarded: _, ...rest } = parsed.output;
  if (body.length !== bytes || hash('sha256', body, 'hex') !== sha256) {
    throw unusable(path, `${bodyPath} was changed: its size or its SHA-256 differs.`);
  }
  return { ...rest, body };
}
