import { hash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { describeFileError, InputError } from '../errors.ts';
import type { Delivery } from './delivery.ts';

/*
 * A saved delivery is two files: <name>.body has the exact bytes, and <name>.json everything else. The .json is written
 * last: a delivery without it was never accepted.
 */

/** The name of a `.json` file: time of arrival, counter, and key of the delivery. */
export const DELIVERY_FILE = /^\d{8}T\d{9}Z-\d{6}-(?<key>[0-9a-f]{24})(\.pending)?\.json$/;

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
  /** The HTTP status of the target's response. */
  readonly status: number;
}

/** Returns the content of the `.json` file. */
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

/** The hint for a path that is not a saved delivery. */
export const SAVED_HINT = 'Name a file or a directory that `webhook listen --save` wrote. Nothing was sent.';

function unusable(path: string, why: string, cause?: unknown): InputError {
  return new InputError(`${path} is not a saved delivery.`, {
    why,
    hint: SAVED_HINT,
    cause,
  });
}

/**
 * Reads a saved delivery.
 * @param path the `.json` file
 * @param bodyPath the `.body` file
 * @throws InputError if a file cannot be read, or the bytes do not match the recorded size and SHA-256
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
