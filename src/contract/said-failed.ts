import { type AssumptionName, SaidFailed } from './assumptions.ts';
import { describeJson, type JsonObject } from './json.ts';

/** Whether an envelope says that the call failed, whatever its status and whatever else it holds. */
function saysFailed({ success, ok, error, errors }: JsonObject): boolean {
  const isSaid = (value: unknown) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
  return success === false || ok === false || isSaid(error) || isSaid(errors);
}

/**
 * Refuses the answer to a call that its status calls good: an id in it is not sure to be that of what was asked for, and an
 * empty list in it says nothing.
 * @param envelopes the objects of the body that may say so
 * @param assumption what it was to be read by
 * @throws SaidFailed where one of them speaks of a failure
 */
export function refuseSaidFailed(body: unknown, envelopes: readonly JsonObject[], assumption: AssumptionName): void {
  if (envelopes.some(saysFailed)) throw new SaidFailed(assumption, describeJson(body));
}
