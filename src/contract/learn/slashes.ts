import type { Contract } from '../contract.ts';
import { readSlashRedirect } from '../slash-redirect.ts';
import type { Evidence } from './evidence.ts';
import { type Exchange, isSuccess } from './exchange.ts';
import type { TracedOperation } from './operations.ts';

const ORIGIN = 'https://host.invalid';

/** Adds the trailing slash that redirects ask for, if the other address then answered. */
function addRedirects(
  exchanges: readonly Exchange[],
  requests: { origin: string; basePath: string },
  evidence: Evidence,
) {
  for (const redirect of exchanges) {
    const url = requests.origin + requests.basePath + redirect.path;
    const slash = readSlashRedirect(redirect, url);
    if (slash === undefined) continue;
    const wanted = slash === 'always' ? `${redirect.path}/` : redirect.path.replace(/\/$/, '');
    const followed = exchanges.find(
      (exchange) => exchange.path === wanted && exchange.line > redirect.line && isSuccess(exchange),
    );
    if (followed === undefined) continue;
    const seen = `${redirect.method}: status ${redirect.status} to the other trailing slash, which line ${followed.line} requests`;
    evidence.add('paths.trailing_slash', slash, seen, [redirect, followed]);
  }
}

/** The trailing slash of a request; undefined for the base URL itself. */
function hasSlash({ path }: Exchange): boolean {
  return path.endsWith('/');
}

/**
 * Adds how paths end, if the service redirects, or if the operations of the contract are only answered with the other
 * trailing slash.
 */
export function addSlashes(
  exchanges: readonly Exchange[],
  operations: readonly TracedOperation[],
  contract: Contract,
  { evidence, ...requests }: { evidence: Evidence; origin: string; basePath: string },
): void {
  addRedirects(exchanges, requests, evidence);
  if (contract.slash() !== 'as-written' || exchanges.some((each) => readSlashRedirect(each, ORIGIN + each.path)))
    return;
  const all = operations.flatMap(({ leaf, value, exchanges: own }) => {
    // Another path of an operation has its own trailing slash.
    if (value !== contract.leaf(leaf).value) return [];
    const path = contract.operation(leaf)?.path.split('?')[0];
    return own.map((exchange) => ({ exchange, isWritten: path?.endsWith('/') === hasSlash(exchange) }));
  });
  const [first] = all;
  if (first === undefined || all.some(({ isWritten }) => isWritten)) return;
  const slash = hasSlash(first.exchange) ? 'always' : 'never';
  evidence.add(
    'paths.trailing_slash',
    slash,
    'every request that was answered has the other trailing slash',
    all.map(({ exchange }) => exchange),
  );
}
