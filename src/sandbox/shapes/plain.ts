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
