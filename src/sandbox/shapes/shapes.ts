import { HISTORY_DIALECTS, REQUEST_DIALECTS, STATUS_DIALECTS } from './dialects/behaviors.ts';
import { NAME_DIALECTS } from './dialects/names.ts';
import { PAGE_DIALECTS } from './dialects/pages.ts';
import type { Shape } from './shape.ts';

/** The service's own shape; all others are dialects of it. The routes build its pages themselves. */
export const PLAIN: Shape = {
  name: 'plain',
  description: 'the service as it is without --shape',
  paging: {
    by: 'token',
    parameter: 'cursor',
    size: 'page_size',
    body: { count: 'total', next: 'next_url', previous: 'previous_url' },
  },
  history: { isPagedByCursor: true },
};

/** Every shape of the sandbox. */
export const SHAPES: readonly Shape[] = [
  PLAIN,
  ...NAME_DIALECTS,
  ...PAGE_DIALECTS,
  ...HISTORY_DIALECTS,
  ...STATUS_DIALECTS,
  ...REQUEST_DIALECTS,
];

/** Finds a shape by name. */
export function findShape(name: string): Shape | undefined {
  return SHAPES.find((shape) => shape.name === name);
}
