import { toJsonSchema } from '@valibot/to-json-schema';
import type { Shape } from './shape.ts';

const VARIABLE = { type: 'string', pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}$' } as const;

/**
 * The JSON Schema (draft 7, as YAML language servers expect it) of documents before their variables are put in:
 * where a value is fixed to certain words or to true and false, a variable may stand, too.
 */
export function jsonSchema(schema: Shape): object {
  return toJsonSchema(schema, {
    target: 'draft-07',
    typeMode: 'input',
    // Checks in code have no counterpart in JSON Schema.
    ignoreActions: ['check'],
    overrideSchema: ({ valibotSchema, jsonSchema: converted }) =>
      valibotSchema.type === 'boolean' || valibotSchema.type === 'picklist'
        ? { anyOf: [converted, VARIABLE] }
        : undefined,
  });
}
