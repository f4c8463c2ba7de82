import type { Contract } from '../contract.ts';
import { readSlashRedirect } from '../slash-redirect.ts';
import type { Evidence } from './evidence.ts';
import { type Exchange, isSuccess } from './exchange.ts';
import type { TracedOperation } from './operations.ts';

const ORIGIN = 'https://host.invalid';

/** Adds the trailing slash that a redirect asks for, if a later request to the other path succeeded. */
function addRedirects(
  exchanges: readonly Exchange[],
  requests: { origin: string; basePath: string },
  evidence: Evidence,
) {
  for (const redirect of exchanges) {
    const url = requests.origin + requests.basePath + redirect.path;
    const slash = readSlashRedirect(redirect, url);
    if (slash === undefined) continue;
    const target = slash === 'always' ? `${redirect.path}/` : redirect.path.replace(/\/$/, '');
    const followed = exchanges.find(
      (exchange) => exchange.path === target && exchange.line > redirect.line && isSuccess(exchange),
    );
    if (followed === undefined) continue;
    const seen = `${redirect.method}: status ${redirect.status} to the other trailing slash, which line ${followed.line} requests`;
    evidence.add('paths.trailing_slash', slash, seen, [redirect, followed]);
  }
}

function hasSlash({ path }: Exchange): boolean {
  return path.endsWith('/');
}

/**
 * Adds the trailing slash, if the service redirects, or if all successful requests have a trailing slash other than in the
 * contract.
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
    'every request with a response has the other trailing slash',
    all.map(({ exchange }) => exchange),
  );
}
