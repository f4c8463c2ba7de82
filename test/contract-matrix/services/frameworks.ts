import { numbers, uuids } from '../ids.ts';
import { byNumber, paging } from '../paging.ts';
import type { Service } from '../service.ts';

/** What web frameworks and their usual libraries answer without being told otherwise. */

export const FRAMEWORKS: readonly Service[] = [
  {
    name: 'drf-page',
    like: 'Django REST framework, PageNumberPagination',
    ids: numbers,
    names: { id: 'id' },
    paging: paging(byNumber(), ({ total, hasNext, number, link, items }) => ({
      count: total,
      next: hasNext ? link({ page: number + 1 }) : null,
      previous: number > 1 ? link({ page: number - 1 }) : null,
      results: items,
    })),
  },
  {
    name: 'fastapi-pagination',
    like: 'FastAPI with fastapi-pagination: items, total, page, size, pages',
    ids: uuids,
    names: { id: 'id' },
    paging: paging(byNumber(), ({ items, total, number, size, pages }) => ({
      items,
      total,
      page: number,
      size,
      pages,
    })),
    error: ({ status, sentence }) =>
      status === 400
        ? { detail: [{ type: 'missing', loc: ['query'], msg: sentence, input: null }] }
        : { detail: sentence },
    slash: { read: 307, write: 307 },
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'laravel',
    like: 'Laravel API resources with a length-aware paginator',
    ids: numbers,
    names: { id: 'id' },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byNumber(), ({ items, number, pages, hasNext, link, from, size, total }) => ({
      data: items,
      links: {
        first: link({ page: 1 }),
        last: link({ page: pages }),
        prev: number > 1 ? link({ page: number - 1 }) : null,
        next: hasNext ? link({ page: number + 1 }) : null,
      },
      meta: { current_page: number, from: from + 1, last_page: pages, per_page: size, to: from + items.length, total },
    })),
    error: ({ code, sentence }) => ({ message: sentence, errors: { [code]: [sentence] } }),
  },
  {
    name: 'spring-page',
    like: 'Spring Data Page as JSON, camel case, pages from 0',
    ids: uuids,
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byNumber('page', 0), ({ items, number, pages, total, size, hasNext }) => ({
      content: items,
      pageable: { pageNumber: number - 1, pageSize: size, offset: (number - 1) * size, paged: true, unpaged: false },
      last: !hasNext,
      totalElements: total,
      totalPages: pages,
      size,
      number: number - 1,
      first: number === 1,
      numberOfElements: items.length,
      empty: items.length === 0,
    })),
    error: ({ status, sentence, path }) => ({ timestamp: '2026-03-02T09:00:00Z', status, error: sentence, path }),
  },
];
