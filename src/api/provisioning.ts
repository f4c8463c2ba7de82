import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type ProvisionResponse, readProvisionResponse } from '../contract/provisioning.ts';
import type { Http } from './http.ts';

/**
 * Creates or reuses a space and installs agents in it (spec §4.1).
 * @param timeoutMs the time limit in milliseconds; nothing is sent after it
 * @throws OutcomeUnknownError if it may have been carried out
 */
export async function provisionSpace(http: Http, manifest: JsonObject, timeoutMs: number): Promise<ProvisionResponse> {
  const response = await http.call(OPERATIONS.provisionSpace, { json: manifest, timeoutMs });
  const result = response.read(readProvisionResponse);
  // A 201 means that the space is new, unless the body has an explicit `created`.
  return { ...result, created: result.created ?? (response.status === 201 ? true : undefined) };
}
