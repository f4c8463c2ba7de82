import {
  arrayOf,
  BOOLEAN,
  type CommandOutput,
  described,
  listOf,
  object,
  oneOf,
  STRING,
} from '../output/output-schema.ts';
import { NULLABLE_TEXT } from './common.ts';

const LEAF = described('the name of a value of the wire format', STRING);
const SOURCE = oneOf('spec', 'assumed', 'imported', 'override');

export const CONTRACT_SHOW: CommandOutput = listOf(
  object({ leaf: LEAF, value: STRING, source: SOURCE, kind: STRING, note: STRING }),
);

const SETTING = object({ leaf: LEAF, value: STRING, previous: STRING, profile: STRING, base_url: STRING });

export const CONTRACT_SET: CommandOutput = { json: { anyOf: [SETTING, arrayOf(SETTING)] }, ndjson: SETTING };

export const CONTRACT_UNSET: CommandOutput = {
  json: object({ leaf: LEAF, value: STRING, source: SOURCE, profile: STRING, base_url: STRING }),
};

export const CONTRACT_CHECK: CommandOutput = listOf(
  object({
    leaf: LEAF,
    value: STRING,
    source: SOURCE,
    result: oneOf('confirmed', 'contradicted', 'unobservable'),
    detail: STRING,
  }),
);

const CHANGE = {
  leaf: LEAF,
  old: STRING,
  new: STRING,
  old_source: SOURCE,
  status: oneOf('change', 'conflict', 'overridden'),
  evidence: STRING,
};

const REVIEW = {
  written: BOOLEAN,
  confirmed: arrayOf(LEAF),
  missing: described('operations that it does not contain', arrayOf(STRING)),
  questions: arrayOf(object({ leaf: NULLABLE_TEXT, message: STRING })),
};

export const CONTRACT_IMPORT: CommandOutput = {
  json: object({
    document: object({ from: STRING, title: NULLABLE_TEXT, version: NULLABLE_TEXT, sha256: STRING }),
    changes: arrayOf(object(CHANGE)),
    ...REVIEW,
  }),
  ndjson: object(CHANGE),
};
