import { OPERATIONS } from '../contract/operations.ts';
import { type ProvisionResponse, readProvisionResponse } from '../contract/provisioning.ts';
import type { Http } from './http.ts';

/** A space to provision (spec §4.1). */
interface NewSpace {
  readonly external_space_id: string;
  readonly space: { readonly [field: string]: string | boolean | undefined };
  readonly agents: readonly { readonly [field: string]: string | boolean | undefined }[];
}

/**
 * Creates or reuses a space and installs agents in it (spec §4.1).
 * @param timeoutMs the time limit in milliseconds; nothing is sent after it
 * @throws OutcomeUnknownError if it may have been carried out
 */
export async function provisionSpace(
  http: Http,
  { external_space_id, space, agents }: NewSpace,
  timeoutMs: number,
): Promise<ProvisionResponse> {
  const response = await http.call(OPERATIONS.provisionSpace, {
    values: { external_space_id, ...space, agents },
    timeoutMs,
  });
  const result = response.read((body, contract) => readProvisionResponse(body, contract, external_space_id));
  // A 201 means that the space is new, unless the body has an explicit `created`.
  return { ...result, created: result.created ?? (response.status === 201 ? true : undefined) };
}
