import {
  arrayOf,
  BOOLEAN,
  type CommandOutput,
  described,
  INTEGER,
  listOf,
  mapOf,
  nullable,
  object,
  openObject,
  STRING,
} from '../output/output-schema.ts';
import { NULLABLE_TEXT } from './common.ts';

export const STATE_PATH: CommandOutput = {
  json: object({
    path: described('a file, or the address of a shared state', STRING),
    from: described('what set it', STRING),
    exists: BOOLEAN,
    bytes: nullable(INTEGER),
    writable: BOOLEAN,
    problem: NULLABLE_TEXT,
    hint: NULLABLE_TEXT,
  }),
};

export const STATE_SHOW: CommandOutput = listOf(
  openObject({ line: INTEGER, at: STRING, type: described('space, cron.created, …', STRING) }, { key: STRING }),
);

const BAD_LINE = object({ line: INTEGER, why: STRING });

export const STATE_VERIFY: CommandOutput = {
  json: object({
    path: STRING,
    exists: BOOLEAN,
    records: described('how many of each type', mapOf(INTEGER)),
    duplicates: described('lines that repeat an earlier one', arrayOf(INTEGER)),
    newer: described(
      'lines that a newer version wrote',
      arrayOf(object({ line: INTEGER, version: { type: 'number' } })),
    ),
    damaged: arrayOf(BAD_LINE),
    sound: BOOLEAN,
  }),
};

export const STATE_BLAME: CommandOutput = listOf(
  object({
    at: STRING,
    type: STRING,
    about: STRING,
    object_id: NULLABLE_TEXT,
    user: NULLABLE_TEXT,
    host: NULLABLE_TEXT,
    run: NULLABLE_TEXT,
    version: NULLABLE_TEXT,
    key: NULLABLE_TEXT,
    id: described('the id of the record', STRING),
  }),
);

export const STATE_INIT: CommandOutput = {
  json: object({ address: STRING, grant: described('what each other user needs to be granted', NULLABLE_TEXT) }),
};

export const STATE_PROVE: CommandOutput = {
  json: object({
    address: STRING,
    proved: BOOLEAN,
    keys: INTEGER,
    processes: INTEGER,
    killed: INTEGER,
    connections_cut: INTEGER,
    answers_held: INTEGER,
    acknowledged: INTEGER,
    records: INTEGER,
    claimed: INTEGER,
    seed: INTEGER,
    run: STRING,
    counterexample: nullable(openObject({ rule: STRING, message: STRING, key: STRING, record: NULLABLE_TEXT })),
  }),
};

export const STATE_COPY: CommandOutput = {
  json: object({ from: STRING, to: STRING, copied: INTEGER, present: described('records already there', INTEGER) }),
};
