import {
  arrayOf,
  BOOLEAN,
  type CommandOutput,
  described,
  INTEGER,
  type JsonSchema,
  listOf,
  nullable,
  object,
  oneOf,
  openObject,
  STRING,
} from '../output/output-schema.ts';
import { ERROR, NULLABLE_TEXT, SERVICE_ID } from './common.ts';

const SESSION = { source_id: STRING, session_id: STRING };

const MESSAGE: JsonSchema = object({
  message_id: STRING,
  ...SESSION,
  role: STRING,
  text: described('null if the message has none', NULLABLE_TEXT),
  created_at: NULLABLE_TEXT,
  raw: described("the service's object", openObject({})),
});

const REPLY = nullable(MESSAGE);
const REPLIES = { replies: described('with --replies or --settle', arrayOf(MESSAGE)) };

export const CHAT_SETUP: CommandOutput = {
  json: openObject(
    { source_id: described('the --source of chat commands', SERVICE_ID) },
    { name: NULLABLE_TEXT, reply_capable: BOOLEAN, routing_mode: NULLABLE_TEXT },
  ),
};

export const CHAT_SEND: CommandOutput = {
  json: object(
    {
      ...SESSION,
      external_message_id: STRING,
      message_id: described('for --after; null if the service does not return it', NULLABLE_TEXT),
      created: described('false if the message was already registered; null if not known', nullable(BOOLEAN)),
      reply: described('the first reply, with --wait; null without, or if none came', REPLY),
    },
    REPLIES,
  ),
  variants: [
    {
      flags: ['rows'],
      ...listOf(
        object({
          line: INTEGER,
          ...SESSION,
          external_message_id: STRING,
          message_id: NULLABLE_TEXT,
          status: oneOf('sent', 'skipped', 'planned', 'failed', 'unknown', 'not_sent'),
          created: nullable(BOOLEAN),
          error: nullable(ERROR),
        }),
      ),
    },
  ],
};

export const CHAT_WAIT: CommandOutput = {
  json: object({ ...SESSION, after_message_id: STRING, reply: described('null if none came', REPLY) }, REPLIES),
};

export const CHAT_OPEN: CommandOutput = { json: null, text: 'a conversation in the terminal' };

export const CHAT_TAIL: CommandOutput = { json: null, ndjson: MESSAGE };

export const CHAT_WATCH: CommandOutput = {
  json: null,
  ndjson: MESSAGE,
  variants: [
    {
      flags: ['no-follow'],
      ...listOf(
        object({
          ...SESSION,
          space: described('the name of the customer', NULLABLE_TEXT),
          agent: described('the name of the agent', NULLABLE_TEXT),
          status: oneOf('unanswered', 'answered', 'empty', 'cannot_be_read'),
          unanswered_since: NULLABLE_TEXT,
          unanswered_message_id: NULLABLE_TEXT,
          last_message_at: NULLABLE_TEXT,
          last_message: nullable(MESSAGE),
        }),
      ),
    },
  ],
};
