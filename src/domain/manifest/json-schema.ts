import { jsonSchema } from '../yaml-input/json-schema.ts';
import { manifestSchema } from './schema.ts';

/** The JSON Schema of a manifest document, for editors; made from the definition that validates. */
export function manifestJsonSchema(): object {
  return jsonSchema(manifestSchema);
}
