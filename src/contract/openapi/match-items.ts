import type { ListLeaf } from '../leaves.ts';
import type { OpenApiDocument } from './document.ts';
import { type Content, contentProperties } from './endpoints.ts';
import { lettersAndDigits } from './names.ts';
import { type Property, type Shape, shapeOf } from './shape.ts';

/** The items of a list as a document describes them. */
export interface MatchedItems {
  /** A leaf value: `$`, or a path such as `data.items`. */
  readonly value: string;
  readonly shape: Shape;
}

const RESOURCE_NAMES: Readonly<Record<ListLeaf, readonly string[]>> = {
  'spaces.list': ['spaces', 'workspaces', 'space_list'],
  'agents.list': ['agents', 'assistants', 'bots', 'agent_list'],
  'messages.history': ['messages', 'history', 'entries', 'events', 'message_list'],
  'cron_jobs.list': ['cron_jobs', 'partner_cron_jobs', 'jobs', 'schedules', 'scheduled_jobs', 'tasks', 'cron_job_list'],
};
const ENVELOPES = [
  'results',
  'data',
  'items',
  'value',
  'values',
  'content',
  'records',
  'elements',
  'list',
  'rows',
  'edges',
  'nodes',
  'embedded',
];
const OTHER_LISTS = ['errors', 'links', 'warnings', 'included', 'sort', 'facets', 'filters', 'messages', 'meta'].map(
  lettersAndDigits,
);

const NO_ITEMS = ['errors', 'links', '_links', 'warnings', 'included'];

function itemsShape(document: OpenApiDocument, { items }: Shape): Shape | undefined {
  return items.length === 0 ? undefined : shapeOf(document, items);
}

/** Rates a property as the list; lower is better. Names of the resource come first, then the usual envelopes. */
function rateList(list: ListLeaf, { path }: Property): number {
  const own = lettersAndDigits(path.at(-1) ?? '');
  const names = [...RESOURCE_NAMES[list].map(lettersAndDigits), ...ENVELOPES];
  const rank = names.indexOf(own);
  const other = rank === -1 && OTHER_LISTS.includes(own) ? 1_000 : 0;
  return path.length * 100 + (rank === -1 ? names.length : rank) + other;
}

/** Finds the items in the response of a list: the body, or a list of objects in it. */
export function matchItems(
  document: OpenApiDocument,
  list: ListLeaf,
  response: Content | undefined,
): MatchedItems | undefined {
  if (response === undefined) return undefined;
  const bodyItems = itemsShape(document, response.shape);
  if (bodyItems) return { value: '$', shape: bodyItems };
  const lists = contentProperties(document, response)
    .filter(
      ({ path, shape }) => path.length <= 4 && !path.some((step) => step.endsWith('[]')) && shape.items.length > 0,
    )
    .filter(({ shape }) => {
      const types = itemsShape(document, shape)?.types;
      return types === undefined || types.size === 0 || types.has('object');
    })
    .sort((one, other) => rateList(list, one) - rateList(list, other));
  const [best] = lists;
  const shape = best && itemsShape(document, best.shape);
  // A single list is the one, unless its name means something else.
  const isOther =
    best !== undefined &&
    rateList(list, best) >= 1_000 &&
    (lists.length > 1 || NO_ITEMS.includes(best.path.at(-1) ?? ''));
  return best && shape && !isOther ? { value: best.path.join('.'), shape } : undefined;
}
