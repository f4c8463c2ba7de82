import { toJsonSchema } from '@valibot/to-json-schema';
import type { GenericSchema } from 'valibot';

const VARIABLE = { type: 'string', pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}$' } as const;

/**
 * The JSON Schema (draft 7, as YAML language servers expect it) of documents before variables are replaced: a variable
 * may stand for one of fixed values.
 */
export function jsonSchema(schema: GenericSchema): object {
  return toJsonSchema(schema, {
    target: 'draft-07',
    typeMode: 'input',
    // What code checks and reads has no counterpart in JSON Schema.
    ignoreActions: ['check', 'transform', 'raw_transform'],
    overrideSchema: ({ valibotSchema, jsonSchema: converted }) =>
      valibotSchema.type === 'picklist' ? { anyOf: [converted, VARIABLE] } : undefined,
  });
}
