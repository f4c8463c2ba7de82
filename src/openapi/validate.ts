import v30 from '@seriousme/openapi-schema-validator/schemas/v3.0/schema.json' with { type: 'json' };
import v31 from '@seriousme/openapi-schema-validator/schemas/v3.1/schema.json' with { type: 'json' };
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import Ajv04 from 'ajv-draft-04';
import { isJsonObject, jsonText } from '../contract/json.ts';

const OPTIONS = { strict: false, validateFormats: false, validateSchema: false } as const;

function describe({ instancePath, message = 'is invalid', params }: ErrorObject): string {
  const name: unknown = params.additionalProperty ?? params.unevaluatedProperty;
  return `#${instancePath} ${message}${typeof name === 'string' ? `: ${name}` : ''}`;
}

/**
 * Finds what is wrong with a document by the schema of its version. Many generators write 3.0 documents with a few keys of
 * 3.1, so that a flaw says where to look, but is no reason to refuse the document.
 * @returns the flaw that is deepest in the document: those around it follow from it
 */
export function findFlaw(document: unknown): string | undefined {
  const isOld = isJsonObject(document) && /^3(\.0|$)/.test(jsonText(document.openapi));
  const validate = isOld ? new Ajv04.default(OPTIONS).compile(v30) : new Ajv2020(OPTIONS).compile(v31);
  validate(document);
  const depth = ({ instancePath }: ErrorObject): number => instancePath.split('/').length;
  const [deepest] = [...(validate.errors ?? [])].sort((one, other) => depth(other) - depth(one));
  return deepest && describe(deepest);
}
