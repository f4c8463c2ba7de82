import { digits } from '../ids.ts';
import { byNumber, byToken, paging, tokenOf } from '../paging.ts';
import type { Service } from '../service.ts';

/** API style guides, followed to the letter. */

export const GUIDES: readonly Service[] = [
  {
    name: 'json-api',
    like: 'JSON:API: attributes, links, page[number]',
    ids: digits,
    names: {
      id: 'id',
      wrap: (resource, { id, ...attributes }) => ({ type: `${resource}s`, id, attributes }),
    },
    one: (_resource, fields) => ({ data: fields }),
    provisioned: (space, agents) => ({ data: space, included: agents }),
    paging: paging(byNumber('page[number]'), ({ items, number, pages, hasNext, link }) => ({
      data: items,
      links: {
        self: link({ 'page[number]': number }),
        last: link({ 'page[number]': pages }),
        ...(hasNext && { next: link({ 'page[number]': number + 1 }) }),
      },
      jsonapi: { version: '1.1' },
    })),
    error: ({ status, code, sentence }) => ({
      errors: [{ status: String(status), code, title: 'Error', detail: sentence }],
    }),
  },
  {
    name: 'google-aip',
    like: 'Google AIP-158: nextPageToken and pageToken, camel case',
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byToken('pageToken'), (page) => ({ [page.key]: page.items, nextPageToken: tokenOf(page) ?? '' })),
    error: ({ status, sentence }) => ({ error: { code: status, message: sentence, status: 'INVALID_ARGUMENT' } }),
    created: 200,
  },
];
