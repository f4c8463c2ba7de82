import { numbers, objectIds, prefixed, uuids } from '../ids.ts';
import { byNumber, byOffset, byToken, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';

/** The conventions of clouds, platforms, and frameworks. */

const iso = (ms: number): string => new Date(ms).toISOString();

export const PLATFORMS: readonly Service[] = [
  {
    name: 'alibaba-cloud',
    like: 'Alibaba: Success, Code OK, Data with PageNumber, PageSize, TotalCount, and the items one level down by their kind',
    ids: (number, resource) => `${resource.slice(0, 2)}-bp1${number.toString(36)}`,
    created: 200,
    names: {
      letterCase: 'pascal',
      author: (author) => ({ SenderType: author === 'user' ? 'Customer' : 'Robot' }),
      time: (ms) => ({ GmtCreate: ms }),
    },
    one: (_resource, fields) => ({ RequestId: '7B5E', Success: true, Code: 'OK', HttpStatusCode: 200, Data: fields }),
    paging: paging(byNumber('PageNumber'), ({ resource, items, number, size, total }) => ({
      RequestId: '7B5E',
      Success: true,
      Code: 'OK',
      Data: {
        TotalCount: total,
        PageNumber: number,
        PageSize: size,
        List: { [resource === 'cron_job' ? 'CronJob' : 'Entry']: items },
      },
    })),
    error: ({ sentence }) => ({ RequestId: '7B5E', Success: false, Code: 'Resource.NotFound', Message: sentence }),
  },
  {
    name: 'tencent-cloud',
    like: 'Tencent: Response with TotalCount and a …Set, Offset and Limit; errors under 200 within Response',
    ids: (number, resource) => `${resource.slice(0, 3)}-${number.toString(36)}q8`,
    created: 200,
    names: {
      letterCase: 'pascal',
      author: (author) => ({ Role: author === 'user' ? 'user' : 'assistant' }),
      time: (ms) => ({ CreateTime: iso(ms) }),
    },
    one: (_resource, fields) => ({ Response: { ...fields, RequestId: 'f5b4' } }),
    paging: paging(byOffset('Offset'), ({ key, items, total }) => ({
      Response: { TotalCount: total, [`${key.slice(0, -1)}Set`]: items, RequestId: 'f5b4' },
    })),
    errorStatus: 200,
    error: ({ sentence }) => ({
      Response: { Error: { Code: 'ResourceNotFound', Message: sentence }, RequestId: 'f5b4' },
    }),
  },
  {
    name: 'ocpi',
    like: 'OCPI: status_code 1000 in the body, 2000 and more for failures under HTTP 200, Link, X-Total-Count, and X-Limit',
    ids: (number) => `NL*TNM*${number}`,
    created: 200,
    names: { id: 'id', author: (author) => ({ author_kind: author === 'user' ? 'driver' : 'bot' }) },
    one: (_resource, data) => ({ data, status_code: 1000, status_message: 'Success', timestamp: iso(0) }),
    paging: paging(
      byOffset(),
      ({ items }) => ({ data: items, status_code: 1000, status_message: 'Success', timestamp: iso(0) }),
      {
        headers: ({ hasNext, from, size, total, link }) => ({
          'X-Total-Count': String(total),
          'X-Limit': String(size),
          ...(hasNext && { Link: `<${link({ offset: from + size, limit: size })}>; rel="next"` }),
        }),
      },
    ),
    errorStatus: 200,
    error: ({ sentence }) => ({ status_code: 2003, status_message: sentence, timestamp: iso(0) }),
  },
  {
    name: 'stripe-search',
    like: 'Stripe search: next_page is a token that is sent as page; times in seconds; expandable references',
    ids: prefixed,
    created: 200,
    names: {
      id: 'id',
      wrap: (resource, fields) => ({ object: resource, ...fields, livemode: false, metadata: {} }),
      author: (author) => ({ author: { object: 'party', type: author === 'user' ? 'customer' : 'assistant' } }),
      time: (ms) => ({ created: ms / 1000 }),
    },
    paging: paging(byToken('page'), (page) => ({
      object: 'search_result',
      url: '/v1/search',
      has_more: page.hasNext,
      next_page: tokenOf(page),
      data: page.items,
    })),
    error: ({ code, sentence }) => ({ error: { type: 'invalid_request_error', code, message: sentence, param: 'x' } }),
  },
  {
    name: 'wso2',
    like: 'WSO2: count of the page, list, pagination with total and a next without the prefix, empty texts at the ends',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ commentedBy: author === 'user' ? 'CUSTOMER' : 'AGENT' }),
      text: (content) => ({ content }),
      time: (ms) => ({ createdTime: String(ms) }),
    },
    paging: paging(byOffset(), ({ items, from, size, total, hasNext, path }) => ({
      count: items.length,
      list: items,
      pagination: {
        offset: from,
        limit: size,
        total,
        next: hasNext ? path({ offset: from + size, limit: size }).replace('/v1/', '/') : '',
        previous: '',
      },
    })),
    error: ({ status, sentence }) => ({
      code: status,
      message: 'Not Found',
      description: sentence,
      moreInfo: '',
      error: [],
    }),
  },
  {
    name: 'eshop-paginated-items',
    like: 'ASP.NET eShop: pageIndex from 0, count is the total, data; ProblemDetails with errors by field and a traceId',
    ids: numbers,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ fromBot: author === 'assistant' }),
      time: (ms) => ({ createdUtc: iso(ms).replace('Z', '0000Z') }),
    },
    paging: paging(byNumber('pageIndex', 0), ({ items, number, size, total }) => ({
      pageIndex: number - 1,
      pageSize: size,
      count: total,
      data: items,
    })),
    errorType: 'application/problem+json; charset=utf-8',
    error: ({ status, sentence }) => ({
      type: 'https://tools.ietf.org/html/rfc9110#section-15.5.1',
      title: 'One or more validation errors occurred.',
      status,
      errors: { Id: [sentence] },
      traceId: '00-4bf92f',
    }),
  },
  {
    name: 'fastapi-pagination-cursors',
    like: 'fastapi-pagination: next_page and current_page are opaque cursors, total null; sent as cursor',
    ids: uuids,
    names: { id: 'id', author: (author) => ({ sender: { is_assistant: author === 'assistant' } }) },
    paging: paging(byToken('cursor'), (page) => ({
      items: page.items,
      total: null,
      current_page: 'Pg%3D%3D',
      current_page_backwards: 'PA%3D%3D',
      previous_page: null,
      next_page: tokenOf(page),
    })),
    error: ({ sentence }) => ({ detail: [{ loc: ['query', 'x'], msg: sentence, type: 'value_error' }] }),
  },
  {
    name: 'camunda-8',
    like: 'Camunda 8: page with totalItems, startCursor, and an endCursor on every page; hasMoreTotalItems is of the count only',
    ids: (number) => String(2_251_799_813_685_200 + number),
    names: {
      letterCase: 'camel',
      paths: { 'cron_job.cron_job_id': 'cronJobKey', 'space.space_id': 'spaceKey', 'message.message_id': 'messageKey' },
      author: (author) => ({ authorType: author === 'user' ? 'USER' : 'AGENT' }),
      time: (ms) => ({ creationTime: iso(ms) }),
    },
    paging: paging(byToken('after'), (page) => ({
      items: page.items,
      page: {
        totalItems: page.total,
        startCursor: 'c3RhcnQ',
        endCursor: Buffer.from(`{"seek":${page.from + page.items.length},"v":2}`).toString('base64url'),
        hasMoreTotalItems: false,
      },
    })),
    errorType: 'application/problem+json',
    error: ({ status, sentence, path }) => ({
      type: 'about:blank',
      title: 'NOT_FOUND',
      status,
      detail: sentence,
      instance: path,
    }),
  },
  {
    name: 'artifactory-aql',
    like: 'Artifactory: results and range with start_pos, end_pos, and total; offset',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ role: author }), time: (ms) => ({ created: iso(ms) }) },
    paging: paging(byOffset(), ({ items, from, total, size }) => ({
      results: items,
      range: { start_pos: from, end_pos: from + items.length, total, limit: size },
    })),
    error: ({ status, sentence }) => ({ errors: [{ status, message: sentence }] }),
  },
  {
    name: 'wagtail',
    like: 'Wagtail: meta.total_count, items with a meta of their own, titles instead of names; offset and limit',
    ids: numbers,
    names: {
      id: 'id',
      paths: { 'space.name': 'title', 'agent.name': 'title', 'source.name': 'title', 'cron_job.name': 'title' },
      wrap: (resource, fields, id) => ({
        ...fields,
        meta: { type: `app.${resource}`, detail_url: `http://service/x/${id}/`, slug: 'x', first_published_at: null },
      }),
      author: (author) => ({ owner: { kind: author === 'user' ? 'visitor' : 'ai' } }),
      text: (body) => ({ body }),
    },
    paging: paging(byOffset(), ({ items, total }) => ({ meta: { total_count: total }, items })),
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'drupal-json-api',
    like: 'Drupal: JSON:API with uuids beside drupal_internal__id, links with href, relationships, titles, page[offset]',
    ids: uuids,
    names: {
      id: 'id',
      author: (author) => ({ field_author_type: author === 'user' ? 'customer' : 'assistant' }),
      time: (ms) => ({ created: iso(ms).replace('.000Z', '+00:00'), changed: iso(ms) }),
      wrap: (resource, { id, agents, ...fields }) => ({
        type: `node--${resource}`,
        id,
        links: { self: { href: `http://service/jsonapi/node/${resource}/x` } },
        attributes: { drupal_internal__nid: 7, langcode: 'en', status: true, ...fields },
        relationships: { uid: { data: { type: 'user--user', id: 'u1' } } },
        ...(agents !== undefined && { agents }),
      }),
    },
    mediaType: 'application/vnd.api+json',
    one: (_resource, data) => ({ jsonapi: { version: '1.0' }, data }),
    provisioned: (data, included) => ({ jsonapi: { version: '1.0' }, data, included }),
    paging: paging(byOffset('page[offset]'), ({ items, from, size, hasNext, link }) => ({
      jsonapi: { version: '1.0', meta: { links: { self: { href: 'http://jsonapi.org/format/1.0/' } } } },
      data: items,
      links: {
        ...(hasNext && { next: { href: link({ 'page[offset]': from + size, 'page[limit]': size }) } }),
        self: { href: link({}) },
      },
    })),
    errorType: 'application/vnd.api+json',
    error: ({ status, sentence }) => ({
      errors: [{ title: 'Not Found', status: String(status), detail: sentence, links: {} }],
    }),
  },
  {
    name: 'mason',
    like: 'Mason: @controls with next, @meta, items under their own name; @error with @message and @details',
    ids: objectIds,
    names: {
      id: '_id',
      letterCase: 'camel',
      wrap: (_resource, fields) => ({ ...fields, __v: 0, '@controls': { self: { href: 'http://service/x' } } }),
      author: (author) => ({ author: { role: author } }),
    },
    mediaType: 'application/vnd.mason+json',
    paging: paging(byNumber(), ({ key, items, number, hasNext, link }) => ({
      '@meta': { '@title': 'List', '@description': 'A list' },
      [key]: items,
      '@controls': {
        self: { href: link({}) },
        ...(hasNext && { next: { href: link({ page: number + 1 }), title: 'Next page' } }),
      },
    })),
    error: ({ sentence, code }) => ({ '@error': { '@message': sentence, '@code': code, '@httpStatusCode': 404 } }),
  },
  {
    name: 'ion-hypermedia',
    like: 'Ion: value beside rel and href, next as an object with rel, offset from 0, size',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      wrap: (_resource, fields, id) => ({ href: `http://service/x/${id}`, ...fields }),
      author: (author) => ({ sender: author === 'user' ? 'CUSTOMER' : 'BOT' }),
      time: (ms) => ({ createdAt: { epochSecond: ms / 1000, nano: 0 } }),
    },
    mediaType: 'application/ion+json',
    paging: paging(byOffset(), ({ items, from, size, total, hasNext, link }) => ({
      href: link({}),
      rel: ['collection'],
      offset: from,
      limit: size,
      size: total,
      first: { href: link({ offset: 0 }), rel: ['collection'] },
      next: hasNext ? { href: link({ offset: from + size }), rel: ['collection'] } : null,
      value: items,
    })),
    error: ({ sentence, code }) => ({ code, message: 'It failed.', detail: sentence }),
  },
  {
    name: 'mixpanel-engage',
    like: 'Mixpanel: results, total, page from 0, and a session_id that the next request must repeat',
    ids: numbers,
    created: 200,
    names: { id: 'id', author: (author) => ({ role: author }) },
    paging: {
      position: { kind: 'page', parameters: ['page', 'session_id'], from: () => 0 },
      answer: (list) => {
        const at = Number(list.url.searchParams.get('page') ?? '0');
        const isContinued = list.url.searchParams.get('session_id') === 'q-1234567890';
        const from = isContinued ? at * list.size : 0;
        return {
          status: 200,
          body: {
            status: 'ok',
            page: isContinued ? at : 0,
            page_size: list.size,
            session_id: 'q-1234567890',
            total: list.items.length,
            results: list.items.slice(from, from + list.size),
          },
        };
      },
    },
    history: { paging: unpaged(({ items }) => ({ status: 'ok', results: items })) },
    error: ({ sentence }) => ({ status: 'error', error: sentence, request: '/x' }),
  },
  {
    name: 'teamwork-headers',
    like: 'Teamwork: STATUS OK, items under their name, X-Page, X-Pages, X-Records; ids are strings of digits',
    ids: (number) => String(number),
    names: {
      id: 'id',
      letterCase: 'kebab',
      author: (author) => ({ 'author-type': author === 'user' ? 'customer' : 'bot' }),
      text: (body) => ({ body, 'html-body': `<p>${body}</p>`, 'content-type': 'TEXT' }),
      time: (ms) => ({ datetime: iso(ms) }),
    },
    one: (_resource, fields) => ({ STATUS: 'OK', ...fields }),
    paging: paging(byNumber(), ({ key, items }) => ({ STATUS: 'OK', [key]: items }), {
      headers: ({ number, pages, total }) => ({
        'X-Page': String(number),
        'X-Pages': String(pages),
        'X-Records': String(total),
      }),
    }),
    error: ({ sentence }) => ({ MESSAGE: sentence, STATUS: 'Error' }),
  },
  {
    name: 'copper-header-total',
    like: 'Copper: bare arrays, X-PW-TOTAL, page_number; custom fields as id and value; times in seconds',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ parent: { id: 1, type: author === 'user' ? 'person' : 'bot' } }),
      text: (details) => ({ details }),
      time: (ms) => ({ activity_date: ms / 1000, date_created: ms / 1000 }),
      wrap: (_resource, fields) => ({ ...fields, custom_fields: [{ custom_field_definition_id: 1, value: null }] }),
    },
    paging: paging(byNumber('page_number'), ({ items }) => items, {
      headers: ({ total }) => ({ 'X-PW-TOTAL': String(total) }),
    }),
    error: ({ status, sentence }) => ({ success: false, status, message: sentence }),
  },
  {
    name: 'gorest',
    like: 'GoREST of old: code and meta in the body under status 200 for all; meta.pagination with links',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ user_type: author === 'user' ? 'member' : 'assistant' }),
      text: (body) => ({ title: 'Re:', body }),
    },
    one: (_resource, data) => ({ code: 201, meta: null, data }),
    paging: paging(byNumber(), ({ items, number, pages, size, total, hasNext, link }) => ({
      code: 200,
      meta: {
        pagination: {
          total,
          pages,
          page: number,
          limit: size,
          links: { previous: null, current: link({}), next: hasNext ? link({ page: number + 1 }) : null },
        },
      },
      data: items,
    })),
    errorStatus: 200,
    error: ({ status, sentence }) => ({ code: status, meta: null, data: { message: sentence } }),
  },
];
