import type { Message } from '../contract/messages.ts';
import { stringifyJson } from '../output/formats/stringify-json.ts';
import { sanitizeText } from '../output/sanitize.ts';

/** Where a message was said. */
export interface Place {
  readonly source_id: string;
  readonly session_id: string;
}

/** A message as scripts see it. */
export function messageJson({ source_id, session_id }: Place, { message_id, role, text, created_at, raw }: Message) {
  return { message_id, session_id, source_id, role, text, created_at, raw };
}

/** The text as a person may read it; where none can be made out, what came in its place. */
export function readableText({ text, raw }: Message): string {
  return sanitizeText(text ?? stringifyJson(raw));
}
