import {
  ANYTHING,
  arrayOf,
  type CommandOutput,
  described,
  INTEGER,
  mapOf,
  object,
  oneOf,
  STRING,
} from '../output/output-schema.ts';
import { NULLABLE_TEXT } from './common.ts';

const CHECK = object({
  name: STRING,
  status: oneOf('ok', 'warning', 'failed', 'skipped'),
  message: described('what was found', STRING),
  hint: described('what to do', NULLABLE_TEXT),
});

export const DOCTOR: CommandOutput = {
  json: object({
    checks: arrayOf(CHECK),
    summary: object({ ok: INTEGER, warning: INTEGER, failed: INTEGER, skipped: INTEGER }),
  }),
  ndjson: CHECK,
};

export const API: CommandOutput = {
  json: described('the body: JSON as it is, other text as a string, other bytes in base64, null if empty', ANYTHING),
  variants: [{ flags: ['include'], json: object({ status: INTEGER, headers: mapOf(STRING), body: ANYTHING }) }],
};
