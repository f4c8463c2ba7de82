import { jsonSchema } from '../yaml/json-schema.ts';
import { manifestSchema } from './manifest-schema.ts';

/** The JSON Schema of a manifest document, for editors; made from the definition that validates. */
export function manifestJsonSchema(): object {
  return jsonSchema(manifestSchema);
}
