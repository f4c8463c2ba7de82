import { createGate, type FakeRequest, forwardTo, startFakeService } from './fake-service.ts';
import type { Service } from './service.ts';

export interface HeldRequests {
  /** The environment in which the service is reached this way. */
  readonly env: Record<string, string>;
  /** Resolves once this many requests wait. */
  held(count?: number): Promise<void>;
  /** Releases the waiting requests, and lets all later ones pass. */
  release(): void;
}

/** A path to a service on which matching requests wait, their bodies unread, until the test releases them. */
export async function holdRequests(
  { sandbox, env }: Service,
  holds: (request: FakeRequest) => boolean,
): Promise<HeldRequests> {
  const gate = createGate();
  const forward = forwardTo(sandbox.baseUrl);
  const { baseUrl } = await startFakeService({
    onHeaders: async (request, response, count) => {
      if (holds(request)) await gate.pass();
      await forward.onHeaders(request, response, count);
    },
  });
  return { env: { ...env, PARTNER_BASE_URL: baseUrl }, held: gate.arrived, release: gate.open };
}
