import type { Fault, FaultScene, Step } from './fault.ts';
import { headOf } from './http-message.ts';

const write = (bytes: Buffer | string): Step => ({ do: 'write', bytes });
const RESET: Step = { do: 'reset' };

/** A whole response that repeats the request's head, as some gateways do to help with debugging. */
function page(status: string, { request }: FaultScene): readonly Step[] {
  const body = `<html><head><title>${status}</title></head><body><pre>${request.head}</pre></body></html>`;
  return [write(headOf(status, { 'content-type': 'text/html', 'content-length': Buffer.byteLength(body) }) + body)];
}

/** Every fault, in the order of the table's columns. */
export const FAULTS: readonly Fault[] = [
  { name: 'refused', meaning: 'unsent', connection: 'refuse', lasting: true },
  { name: 'reset-after', meaning: 'lost', carriedOut: 'first', steps: () => [RESET] },
  { name: 'html-502', meaning: 'lost', carriedOut: 'never', steps: (scene) => page('502 Bad Gateway', scene) },
];
