import { digits, numbers, snowflakes, uuids } from '../ids.ts';
import { byNumber, byOffset, byToken, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';

/** How teams that write Java, Kotlin, or C# would implement the specification, each in its own product. */

const iso = (ms: number): string => new Date(ms).toISOString();
/** Java's LocalDateTime: without a zone, and without seconds that are 0. */
const localDateTime = (ms: number): string => iso(ms).slice(0, 16);
/** Seven digits, as .NET writes them. */
const ticks = (ms: number): string => `${iso(ms).slice(0, 23)}0000Z`;

export const JAVA_DOTNET: readonly Service[] = [
  {
    name: 'team-spring-page',
    like: 'Spring Data pages: content, pageable, last, and numbers from 0; camel case; LocalDateTime',
    ids: numbers,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ senderType: author === 'user' ? 'CUSTOMER' : 'AGENT' }),
      time: (ms) => ({ createdDate: localDateTime(ms) }),
    },
    paging: paging(byNumber('page', 0), ({ items, number, pages, total, size, hasNext }) => ({
      content: items,
      pageable: { pageNumber: number - 1, pageSize: size, offset: (number - 1) * size, paged: true, unpaged: false },
      last: !hasNext,
      first: number === 1,
      totalPages: pages,
      totalElements: total,
      size,
      number: number - 1,
      numberOfElements: items.length,
      empty: items.length === 0,
    })),
    error: ({ status, sentence, path }) => ({
      timestamp: '2026-03-02T09:00:00.000+00:00',
      status,
      error: 'Bad Request',
      message: sentence,
      path,
    }),
  },
  {
    name: 'team-spring-paged-model',
    like: 'Spring Boot 3.3 with PagedModel: content, and page with size, number, totalElements, totalPages',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      text: (text) => ({ body: { text, format: 'PLAIN' } }),
      author: (author) => ({ author: { role: author === 'user' ? 'CONTACT' : 'ASSISTANT', id: 'u-1' } }),
      time: (ms) => ({ createdAt: `${iso(ms).slice(0, 19)}.123456Z` }),
    },
    paging: paging(byNumber('page', 0), ({ items, number, pages, total, size }) => ({
      content: items,
      page: { size, number: number - 1, totalElements: total, totalPages: pages },
    })),
    error: ({ status, sentence, path }) => ({
      type: 'about:blank',
      title: 'Bad Request',
      status,
      detail: sentence,
      instance: path,
    }),
    errorType: 'application/problem+json',
  },
  {
    name: 'team-spring-slice',
    like: 'Spring slices in an envelope: success, data with items and hasNext; the page is a number from 1',
    ids: snowflakes,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ fromAgent: author === 'assistant' }),
      time: (ms) => ({ createdAt: ms }),
    },
    one: (_resource, fields) => ({ success: true, data: fields, traceId: '4bf92f3577b34da6', error: null }),
    paging: paging(byNumber(), ({ items, number, hasNext, size }) => ({
      success: true,
      data: { items, page: number, size, hasNext },
      traceId: '4bf92f3577b34da6',
      error: null,
    })),
    error: ({ code, sentence }) => ({
      success: false,
      data: null,
      traceId: '4bf9',
      error: { code, message: sentence },
    }),
  },
  {
    name: 'team-spring-hateoas',
    like: 'Spring HATEOAS: _embedded with spaceList, _links with hrefs, page; each resource with _links',
    ids: numbers,
    mediaType: 'application/hal+json',
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: author === 'user' ? 'END_USER' : 'VIRTUAL_AGENT' }),
      wrap: (resource, fields, id) => ({
        ...fields,
        _links: { self: { href: `http://internal:8080/v1/${resource}/${id}` } },
      }),
    },
    paging: paging(byNumber('page', 0), ({ resource, items, number, pages, total, size, hasNext, link }) => ({
      ...(items.length > 0 && { _embedded: { [`${resource.replace(/_j/, 'J')}ResponseList`]: items } }),
      _links: {
        self: { href: link({ page: number - 1, size }) },
        ...(hasNext && { next: { href: link({ page: number, size }) } }),
        last: { href: link({ page: pages - 1, size }) },
      },
      page: { size, totalElements: total, totalPages: pages, number: number - 1 },
    })),
    error: ({ sentence }) => ({ message: sentence, logref: 'e1', _links: {} }),
  },
  {
    name: 'team-quarkus-limit',
    like: 'Quarkus with offset and limit, and the total in X-Total-Count; epoch milliseconds; paused jobs',
    ids: digits,
    names: {
      id: 'id',
      letterCase: 'camel',
      text: (text) => ({ content: text, contentType: 'text/plain' }),
      author: (author) => ({ participant: { type: author === 'user' ? 'customer' : 'bot', name: 'x' } }),
      time: (ms) => ({ timestamp: ms }),
      wrap: (resource, fields) =>
        resource === 'cron_job' ? { ...fields, enabled: fields.name !== 'weekly', deleted: false } : fields,
    },
    paging: paging(byOffset(), ({ items }) => items, { headers: ({ total }) => ({ 'x-total-count': String(total) }) }),
    error: ({ sentence, code }) => ({
      title: 'Constraint Violation',
      status: 400,
      violations: [{ field: code, message: sentence }],
    }),
  },
  {
    name: 'team-micronaut-next-page-token',
    like: 'Micronaut, made after the style of Google: nextPageToken, resource lists under their names; errors with details',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ role: author === 'user' ? 'ROLE_USER' : 'ROLE_AGENT' }),
      time: (ms) => ({ createTime: iso(ms) }),
    },
    paging: paging(byToken('pageToken'), (page) => ({
      [page.key]: page.items,
      ...(page.hasNext && { nextPageToken: tokenOf(page) }),
    })),
    created: 200,
    error: ({ status, code, sentence }) => ({
      error: { code: status, status: code.toUpperCase(), message: sentence, details: [] },
    }),
  },
  {
    name: 'team-kotlin-ktor',
    like: 'Ktor: a cursor that is null at the end, no nulls else; a default space, a nameless agent, and empty texts',
    ids: uuids,
    more: { defaultSpace: 'Everyone', agents: [null], messages: [['user', '']] },
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ sentBy: author === 'user' ? 'customer' : 'agent' }),
      time: (ms) => ({ sentAt: iso(ms) }),
      wrap: (_resource, fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)),
    },
    paging: paging(byToken('cursor'), (page) => ({ items: page.items, cursor: tokenOf(page) })),
    error: ({ sentence }) => ({ reason: sentence }),
  },
  {
    name: 'team-dotnet-paged-list',
    like: 'ASP.NET with a PagedList: items, pageIndex, totalPages, hasNextPage; ProblemDetails; seven digits',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      text: (text) => ({ body: text, bodyHtml: `<p>${text}</p>` }),
      author: (author) => ({ direction: author === 'user' ? 'Incoming' : 'Outgoing' }),
      time: (ms) => ({ createdUtc: ticks(ms) }),
    },
    paging: paging(byNumber('pageIndex'), ({ items, number, pages, total, hasNext }) => ({
      items,
      pageIndex: number,
      totalPages: pages,
      totalCount: total,
      hasPreviousPage: number > 1,
      hasNextPage: hasNext,
    })),
    error: ({ status, sentence }) => ({
      type: 'https://tools.ietf.org/html/rfc9110#section-15.5.1',
      title: 'One or more validation errors occurred.',
      status,
      errors: { '$.x': [sentence] },
      traceId: '00-1',
    }),
    errorType: 'application/problem+json; charset=utf-8',
  },
  {
    name: 'team-dotnet-response-wrapper',
    like: 'ASP.NET with a wrapper that is everywhere: succeeded, errors, data, pageNumber, nextPage as an address; Pascal case',
    ids: numbers,
    names: {
      id: 'Id',
      letterCase: 'pascal',
      author: (author) => ({ SenderRole: author === 'user' ? 'Customer' : 'Assistant' }),
      time: (ms) => ({ CreatedOn: ticks(ms).slice(0, 27) }),
    },
    one: (_resource, fields) => ({ Succeeded: true, Errors: null, Message: '', Data: fields }),
    paging: paging(byNumber('pageNumber'), ({ items, number, size, pages, total, hasNext, link }) => ({
      PageNumber: number,
      PageSize: size,
      FirstPage: link({ pageNumber: 1 }),
      LastPage: link({ pageNumber: pages }),
      TotalPages: pages,
      TotalRecords: total,
      NextPage: hasNext ? link({ pageNumber: number + 1 }) : null,
      PreviousPage: null,
      Data: items,
      Succeeded: true,
      Errors: null,
      Message: null,
    })),
    error: ({ sentence }) => ({ Succeeded: false, Errors: [sentence], Message: 'Request failed', Data: null }),
  },
  {
    name: 'team-dotnet-skip-take',
    like: 'ASP.NET minimal APIs: skip and take, results and total; jobs camel case below a job; the history in one page, newest first',
    ids: uuids,
    names: {
      id: 'id',
      author: (author) => ({ is_agent: author === 'assistant', is_system: false }),
      time: (ms) => ({ created_at: iso(ms).replace('Z', '+00:00') }),
      wrap: (resource, fields) => (resource === 'cron_job' ? { job: fields, links: { self: '/jobs/x' } } : fields),
    },
    paging: paging(byOffset('skip'), ({ items, total, from, size }) => ({
      results: items,
      total,
      skip: from,
      take: size,
    })),
    history: { order: 'newest first', paging: unpaged(({ items }) => ({ results: items, total: items.length })) },
    error: ({ sentence, code }) => ({ errorCode: code, errorMessage: sentence }),
  },
];
