import { OPERATIONS, type Safety } from '../contract/operations.ts';
import { type ProvisionResponse, readProvisionResponse } from '../contract/provisioning.ts';
import type { Manifest } from '../provision/manifest-schema.ts';
import type { Http } from './http.ts';

/**
 * Creates or reuses a space and installs agents in it (spec §4.1).
 * @param safety `idempotent` as the spec has it, or `once` for a caller that looks before it repeats
 */
export async function provisionSpace(http: Http, manifest: Manifest, safety: Safety): Promise<ProvisionResponse> {
  const answer = await http.call(OPERATIONS.provisionSpace, { json: manifest, safety });
  const said = answer.read(readProvisionResponse);
  // 201 is what HTTP says for something new; an explicit word of the service wins.
  return { ...said, created: said.created ?? (answer.status === 201 ? true : undefined) };
}
