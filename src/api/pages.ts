import { ASSUMPTIONS } from '../contract/assumptions.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { readList, readNext, statedRest, unreachableNext } from '../contract/lists.ts';
import type { Operation } from '../contract/operations.ts';
import { ShapeError } from '../errors.ts';
import type { Answer } from './answer.ts';
import type { CallOptions, Http } from './http.ts';

function refused(operation: Operation, answer: Answer, message: string, seen: string): ShapeError {
  return new ShapeError(message, {
    why: `${operation.name} names as its next page: ${seen}`,
    hint: `What was read up to here is not the whole list. Assumed (list.next): ${ASSUMPTIONS['list.next']}.`,
    status: answer.status,
    requestId: answer.requestId,
    details: { operation: operation.name, assumption: 'list.next', seen },
  });
}

async function linkHeader(operation: Operation, answer: Answer): Promise<string | undefined> {
  const { link } = answer.headers;
  if (link === undefined) return undefined;
  const { default: LinkHeader } = await import('http-link-header');
  try {
    return LinkHeader.parse(link).rel('next')[0]?.uri;
  } catch {
    if (!/\bnext\b/i.test(link)) return undefined;
    throw refused(operation, answer, 'The list goes on, but its Link header cannot be read.', link);
  }
}

/**
 * The path and query under which the next page is asked, on the configured origin whatever the link says.
 * A link beside the base path is refused: the token would go to something else on that host.
 */
function pathOfNext(http: Http, operation: Operation, answer: Answer, next: string): string {
  const current = new URL(new URL(http.baseUrl).origin + answer.path);
  if (!URL.canParse(next, current.href)) throw refused(operation, answer, 'The list goes on at no address.', next);
  const target = new URL(next, current);
  if (target.pathname !== current.pathname && !target.pathname.startsWith(`${http.basePath}/`)) {
    throw refused(operation, answer, 'The list goes on outside of the base address.', next);
  }
  return target.pathname + target.search;
}

async function nextPage(
  http: Http,
  operation: Operation,
  answer: Answer,
  resource: string,
): Promise<string | undefined> {
  const next = answer.read((body) => readNext(body, resource)) ?? (await linkHeader(operation, answer));
  if (next !== undefined) return pathOfNext(http, operation, answer, next);
  const body = answer.json();
  const sign = unreachableNext(body, resource);
  if (sign !== undefined && isJsonObject(body)) {
    throw refused(operation, answer, 'The list goes on in a way that the tool cannot follow.', `the key ${sign}`);
  }
  return undefined;
}

/**
 * Every item of a list, page after page, one page in memory at a time (assumptions `list.envelope` and `list.next`).
 * @param resource the plural name under which the service may put the items
 * @throws ShapeError for a list that cannot be read, a page that leads elsewhere, or a page that was there before
 */
export async function* listAll(
  http: Http,
  operation: Operation,
  resource: string,
  options: CallOptions = {},
): AsyncGenerator<JsonObject> {
  const seen = new Set<string>();
  for (let link: string | undefined; ; ) {
    const answer = await http.call(operation, link === undefined ? options : { link });
    const items = answer.read((body) => readList(body, resource));
    const next = await nextPage(http, operation, answer, resource);
    const rest =
      next === undefined && link === undefined ? statedRest(answer.json(), resource, items.length) : undefined;
    if (rest !== undefined) {
      throw refused(operation, answer, 'The list goes on in a way that the tool cannot follow.', rest);
    }
    yield* items;
    if (next === undefined) return;
    seen.add(answer.path);
    if (seen.has(next)) throw refused(operation, answer, 'The list goes round in a circle.', next);
    link = next;
  }
}
