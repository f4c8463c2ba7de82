import { PLAIN } from './plain.ts';
import type { Shape } from './shape.ts';

/** Every shape that the sandbox can answer in. */
export const SHAPES: readonly Shape[] = [
  PLAIN,
  {
    name: 'camel',
    description: 'camelCase names; items under "data", page tokens (nextPageToken → pageToken)',
    case: 'camel',
    list: 'data',
    paging: {
      by: 'token',
      parameter: 'pageToken',
      size: 'pageSize',
      pageSize: 2,
      end: 'absent',
      body: { nextPageToken: 'next_token' },
    },
    errors: 'google',
  },
  {
    name: 'json-api',
    description: 'JSON:API: attributes one level down, links.next, errors as a list',
    id: 'id',
    case: 'kebab',
    nesting: 'attributes',
    list: 'data',
    single: 'data',
    paging: {
      by: 'page',
      parameter: 'page[number]',
      size: 'page[size]',
      pageSize: 2,
      body: { 'links/self': 'self_url', 'links/next': 'next_url', 'meta/total-pages': 'pages' },
    },
    errors: 'json_api',
  },
  {
    name: 'spring',
    description: 'Spring pages: "content", numbered from 0, with "last" and "totalPages"',
    case: 'camel',
    id: 'id',
    list: 'content',
    paging: {
      by: 'page',
      parameter: 'page',
      size: 'size',
      pageSize: 2,
      firstPage: 0,
      body: {
        number: 'page',
        size: 'size',
        totalPages: 'pages',
        totalElements: 'total',
        last: 'is_last',
        numberOfElements: 'items',
      },
    },
    errors: 'spring',
  },
];

/** The shape of a name; undefined for an unknown one. */
export function findShape(name: string): Shape | undefined {
  return SHAPES.find((shape) => shape.name === name);
}
