import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { describeJson, isJsonObject, type JsonObject, jsonText } from '../contract/json.ts';
import { errorMessage } from '../platform/error-code.ts';

/** A document that cannot be used. The message continues "The document cannot be used: ". */
export class OpenApiError extends Error {}

/** References lead to the document itself: nothing else is read. A hostile document can cost a few seconds. */
const OPTIONS = { resolve: { file: false, http: false }, mutateInputSchema: false, timeoutMs: 5_000 } as const;

/** Accepts numbers: YAML parses `openapi: 3.0` as 3. */
function isSupported(version: unknown): boolean {
  return typeof version === 'number'
    ? version === 3 || version === 3.1
    : /^3\.[01](\.\d+)?(-\w+)?$/.test(jsonText(version));
}

/**
 * Opens a parsed OpenAPI 3.0 or 3.1 document (spec §9).
 * @returns the document with every reference replaced by what it leads to: an object may contain itself
 * @throws OpenApiError if it is another kind of document, or a reference cannot be followed
 */
export async function openDocument(root: unknown): Promise<JsonObject> {
  if (!isJsonObject(root)) throw new OpenApiError(`it is not an OpenAPI document, but ${describeJson(root)}`);
  const { openapi, swagger, paths } = root;
  if (swagger !== undefined) throw new OpenApiError('it is a Swagger 2.0 document. OpenAPI 3.0 and 3.1 are supported');
  if (!isSupported(openapi)) throw new OpenApiError('it is not an OpenAPI 3.0 or 3.1 document');
  if (!isJsonObject(paths)) throw new OpenApiError('it describes no paths');
  try {
    const opened: unknown = await $RefParser.dereference(root, OPTIONS);
    return isJsonObject(opened) ? opened : root;
  } catch (error) {
    throw new OpenApiError(errorMessage(error));
  }
}
