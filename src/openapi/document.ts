import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { parse } from 'yaml';
import { describeJson, isJsonObject, type JsonObject, jsonText } from '../contract/json.ts';

/** References lead to the document itself: nothing else is read. A hostile document can cost a few seconds. */
const REFERENCES = { resolve: { file: false, http: false }, mutateInputSchema: false, timeoutMs: 5_000 } as const;

/** Parses JSON, or else YAML, which takes far longer to read. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parse(text, { maxAliasCount: 10_000, logLevel: 'error' });
  }
}

/** Opens an OpenAPI 3 document (spec §9), JSON or YAML, and resolves its references. @throws Error */
export async function openDocument(text: string): Promise<JsonObject> {
  const root = parseText(text);
  if (!isJsonObject(root)) throw new Error(`it is not an OpenAPI document, but ${describeJson(root)}`);
  if (!/^3(\.[0-2](\.|$)|$)/.test(jsonText(root.openapi)))
    throw new Error('it is not an OpenAPI 3.0, 3.1, or 3.2 document');
  const resolved: unknown = await $RefParser.dereference(root, REFERENCES);
  return isJsonObject(resolved) ? resolved : root;
}
