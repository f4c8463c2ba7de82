import {
  ANYTHING,
  arrayOf,
  BOOLEAN,
  type CommandOutput,
  described,
  INTEGER,
  listOf,
  mapOf,
  nullable,
  object,
  oneOf,
  openObject,
  STRING,
} from '../output/output-schema.ts';
import { ERROR, NULLABLE_TEXT } from './common.ts';

const LISTENING = described('the first line', object({ url: STRING }));

const DELIVERY = described(
  'each further line',
  object({
    delivery_id: STRING,
    received_at: STRING,
    verification: oneOf('verified', 'failed', 'unsigned', 'not-checked'),
    reason: NULLABLE_TEXT,
    forwarded: described('null if it is not forwarded', nullable(BOOLEAN)),
    forward_status: nullable(INTEGER),
    message_id: NULLABLE_TEXT,
    session_id: NULLABLE_TEXT,
    source_id: NULLABLE_TEXT,
    role: NULLABLE_TEXT,
    text: NULLABLE_TEXT,
    created_at: NULLABLE_TEXT,
    saved: described('the path of the file with its bytes', NULLABLE_TEXT),
    headers: mapOf(STRING),
    body: ANYTHING,
  }),
);

export const WEBHOOK_LISTEN: CommandOutput = { json: null, ndjson: { anyOf: [LISTENING, DELIVERY] } };

export const WEBHOOK_REPLAY: CommandOutput = listOf(
  object({
    file: STRING,
    delivery_id: STRING,
    status: oneOf('sent', 'failed', 'unknown', 'skipped'),
    http_status: nullable(INTEGER),
    error: nullable(ERROR),
  }),
);

export const WEBHOOK_TRIGGER: CommandOutput = listOf(
  openObject({
    delivery_id: STRING,
    url: STRING,
    status: STRING,
    attempts: arrayOf(openObject({ status: nullable(INTEGER), error: NULLABLE_TEXT })),
    next_attempt_at: NULLABLE_TEXT,
  }),
);
