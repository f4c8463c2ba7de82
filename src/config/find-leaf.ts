import { closestMatch } from 'leven';
import { isLeafName, LEAVES, type LeafName } from '../contract/leaves.ts';
import { UsageError } from '../errors.ts';

const MAX_DISTANCE = 6;

/** Returns the leaf with this name. @throws UsageError with a suggestion if there is none */
export function findLeaf(name: string): LeafName {
  if (isLeafName(name)) return name;
  const close = closestMatch(name.toLowerCase(), Object.keys(LEAVES), { maxDistance: MAX_DISTANCE });
  throw new UsageError(`The contract has no leaf ${JSON.stringify(name)}.`, {
    hint: close ? `Did you mean ${close}?` : 'List the leaves with: partnerctl contract show',
  });
}
