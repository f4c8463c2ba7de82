import {
  type CommandOutput,
  described,
  INTEGER,
  listOf,
  nullable,
  object,
  oneOf,
  STRING,
} from '../output/output-schema.ts';
import { ERROR, NULLABLE_TEXT } from './common.ts';

export const UPLOAD: CommandOutput = listOf(
  object({
    file: STRING,
    as: oneOf('attachment', 'document'),
    id: described('the id of the attachment or document', NULLABLE_TEXT),
    bytes: INTEGER,
    sha256: NULLABLE_TEXT,
    status: oneOf('uploaded', 'skipped', 'planned', 'unknown', 'failed'),
    error: nullable(ERROR),
  }),
);
