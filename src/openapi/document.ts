import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import v30 from '@seriousme/openapi-schema-validator/schemas/v3.0/schema.json' with { type: 'json' };
import v31 from '@seriousme/openapi-schema-validator/schemas/v3.1/schema.json' with { type: 'json' };
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import Ajv04 from 'ajv-draft-04';
import { parse } from 'yaml';
import { describeJson, isJsonObject, type JsonObject, jsonText } from '../contract/json.ts';

/** References lead to the document itself: nothing else is read. A hostile document can cost a few seconds. */
const REFERENCES = { resolve: { file: false, http: false }, mutateInputSchema: false, timeoutMs: 5_000 } as const;
const VALIDATION = { strict: false, validateFormats: false, validateSchema: false } as const;

/** Parses JSON, or else YAML, which takes far longer to read. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parse(text, { maxAliasCount: 10_000, logLevel: 'error' });
  }
}

function describe({ instancePath, message = 'is invalid', params }: ErrorObject): string {
  const name: unknown = params.additionalProperty ?? params.unevaluatedProperty;
  return `#${instancePath} ${message}${typeof name === 'string' ? `: ${name}` : ''}`;
}

/**
 * Finds what is wrong with a document by the schema of its version. Many generators write 3.0 documents with a few keys
 * of 3.1, so that a flaw is no reason to refuse the document.
 * @returns the flaw that is deepest in the document: those around it follow from it
 */
function findFlaw(document: JsonObject): string | undefined {
  const isOld = /^3(\.0|$)/.test(jsonText(document.openapi));
  const validate = isOld ? new Ajv04.default(VALIDATION).compile(v30) : new Ajv2020(VALIDATION).compile(v31);
  validate(document);
  const depth = ({ instancePath }: ErrorObject): number => instancePath.split('/').length;
  const [deepest] = [...(validate.errors ?? [])].sort((one, other) => depth(other) - depth(one));
  return deepest && describe(deepest);
}

/**
 * Opens an OpenAPI 3.0 or 3.1 document (spec §9) in JSON or YAML. YAML parses `openapi: 3.0` as the number 3.
 * @returns the document with every reference replaced by what it leads to: an object may contain itself; and a flaw
 * @throws Error if it is another kind of document, or a reference cannot be followed
 */
export async function openDocument(text: string): Promise<{ document: JsonObject; flaw: string | undefined }> {
  const root = parseText(text);
  if (!isJsonObject(root)) throw new Error(`it is not an OpenAPI document, but ${describeJson(root)}`);
  if (!/^3(\.[01](\.|$)|$)/.test(jsonText(root.openapi))) throw new Error('it is not an OpenAPI 3.0 or 3.1 document');
  const resolved: unknown = await $RefParser.dereference(root, REFERENCES);
  return { document: isJsonObject(resolved) ? resolved : root, flaw: findFlaw(root) };
}
