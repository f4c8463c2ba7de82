import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type ProvisionResponse, readProvisionResponse } from '../contract/provisioning.ts';
import type { Http } from './http.ts';

/**
 * Creates or reuses a space and installs agents in it (spec §4.1).
 * @param timeoutMs the time limit in milliseconds; nothing is sent after it
 * @throws OutcomeUnknownError if it may have been carried out
 */
export async function provisionSpace(
  http: Http,
  manifest: JsonObject & { readonly external_space_id: string },
  timeoutMs: number,
): Promise<ProvisionResponse> {
  const response = await http.call(OPERATIONS.provisionSpace, { json: manifest, timeoutMs });
  const { external_space_id: requested } = manifest;
  const result = response.read((body, contract) => readProvisionResponse(body, contract, requested));
  // A 201 means that the space is new, unless the body has an explicit `created`.
  return { ...result, created: result.created ?? (response.status === 201 ? true : undefined) };
}
