import { hash } from 'node:crypto';
import type { NewMessage } from '../api/calls.ts';

/** A row whose external id is derived. */
interface RowContent extends Pick<NewMessage, 'source_id' | 'session_id' | 'text'> {
  /** 1 for the first row with this content, 2 for the second, and so on. */
  readonly occurrence: number;
}

/** Lengths of hashes in bytes; each byte becomes two hexadecimal digits. */
const [ID_BYTES, KEY_BYTES, DIGEST_BYTES] = [16, 12, 8];

/** Hashes a list of texts and numbers. Not a slice of a longer text, which would stay in memory with it. */
function hashOf(parts: readonly (string | number)[], bytes: number): string {
  return hash('sha256', JSON.stringify(parts), 'buffer').toString('hex', 0, bytes);
}

/** The external id of a row that gives none: the same in each run, and another one for each row of the file. */
export function deriveExternalId({ source_id, session_id, text, occurrence }: RowContent): string {
  return `row-${hashOf([source_id, session_id, text, occurrence], ID_BYTES)}`;
}

/** The key of a row's content, 24 hexadecimal digits: the same for rows that differ only in their ids. */
export function contentKey({ source_id, session_id, text }: Omit<RowContent, 'occurrence'>): string {
  return hashOf([source_id, session_id, text], KEY_BYTES);
}

/** The key of a message in the state, 24 hexadecimal digits. */
export function rowKey({ source_id, session_id, external_message_id }: Omit<NewMessage, 'text'>): string {
  return hashOf([source_id, session_id, external_message_id], KEY_BYTES);
}

/** A digest that tells texts apart, 16 hexadecimal digits. */
export function textDigest(text: string): string {
  return hashOf([text], DIGEST_BYTES);
}
