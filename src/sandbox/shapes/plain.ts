import type { Shape } from './shape.ts';

/** The service's own shape, of which every other one is a dialect. Its pages are made by the routes themselves. */
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
