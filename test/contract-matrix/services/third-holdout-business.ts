import { digits, numbers, prefixed, uuids } from '../ids.ts';
import { byNumber, byOffset, byToken, newestFirst, paging, token, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';
import type { Wire } from '../wire.ts';

/** The conventions of business software: ERP, CRM, and low-code databases. */

const iso = (ms: number): string => new Date(ms).toISOString();
const sqlTime = (ms: number): string => iso(ms).slice(0, 19).replace('T', ' ');

/** Kintone's convention: each value has its type next to it. */
function typed(fields: Wire): Wire {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key === 'id' ? '$id' : key,
      { type: key === 'id' ? '__ID__' : 'SINGLE_LINE_TEXT', value },
    ]),
  );
}

export const BUSINESS: readonly Service[] = [
  {
    name: 'odoo-json-rpc',
    like: 'Odoo: an envelope of JSON-RPC under status 200, relations as pairs of id and name, false for what is empty',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      wrap: (resource, { agent_id, source_id, ...fields }) => ({
        ...fields,
        ...(agent_id !== undefined && { agent_id: resource === 'agent' ? agent_id : [agent_id, 'An agent'] }),
        ...(source_id !== undefined && { source_id: [source_id, 'API chat'] }),
        active: true,
        company_id: [1, 'Partner Inc.'],
        parent_id: false,
        __last_update: '2026-03-02 09:00:00',
      }),
      time: (ms) => ({ date: sqlTime(ms) }),
      author: (author) => ({ author_type: author === 'user' ? 'customer' : 'bot', author_id: [3, 'Someone'] }),
      text: (text) => ({ body: text, subtype_id: [1, 'Discussions'], subject: false }),
    },
    one: (_resource, result) => ({ jsonrpc: '2.0', id: null, result }),
    paging: paging(byOffset(), ({ items, total }) => ({
      jsonrpc: '2.0',
      id: null,
      result: { length: total, records: items },
    })),
    errorStatus: 200,
    error: ({ sentence }) => ({
      jsonrpc: '2.0',
      id: null,
      error: {
        code: 200,
        message: 'Odoo Server Error',
        data: { name: 'odoo.exceptions.UserError', message: sentence, arguments: [sentence], context: {} },
      },
    }),
  },
  {
    name: 'frappe-rest',
    like: 'Frappe: {"data": …}, the id of a document is its `name`, 0 and 1 for flags, server messages as JSON in JSON',
    ids: (number, resource) => `${resource.toUpperCase().slice(0, 3)}-${String(number).padStart(5, '0')}`,
    created: 200,
    names: {
      id: 'name',
      paths: {
        'space.name': 'space_name',
        'agent.name': 'agent_name',
        'cron_job.name': 'job_name',
        'source.name': 'title',
      },
      time: (ms) => ({ creation: `${sqlTime(ms)}.120394`, modified: `${sqlTime(ms)}.120394` }),
      author: (author) => ({ sender: author === 'user' ? 'customer' : 'bot' }),
      text: (content) => ({ content }),
      wrap: (resource, fields) => ({ doctype: resource, docstatus: 0, idx: 0, ...fields }),
    },
    one: (_resource, data) => ({ data }),
    paging: unpaged(({ items }) => ({ data: items })),
    error: ({ sentence }) => ({
      exception: `frappe.exceptions.ValidationError: ${sentence}`,
      exc_type: 'ValidationError',
      _server_messages: JSON.stringify([JSON.stringify({ message: sentence, indicator: 'red' })]),
    }),
  },
  {
    name: 'dynamics-web-api',
    like: 'Dynamics 365: OData 4 with lookups `_agentid_value`, formatted values beside, and a skip token within a cookie',
    ids: uuids,
    names: {
      wrap: (_resource, { space_id, agent_id, source_id, cron_job_id, message_id, ...fields }) => ({
        '@odata.etag': 'W/"17282"',
        ...(space_id !== undefined && { spaceid: space_id }),
        ...(agent_id !== undefined && { agentid: agent_id }),
        ...(source_id !== undefined && { sourceid: source_id }),
        ...(cron_job_id !== undefined && { cronjobid: cron_job_id }),
        ...(message_id !== undefined && { messageid: message_id }),
        ...fields,
        statecode: 0,
        'statecode@OData.Community.Display.V1.FormattedValue': 'Active',
      }),
      author: (author) => ({
        directioncode: author === 'assistant',
        'directioncode@OData.Community.Display.V1.FormattedValue': author === 'assistant' ? 'Outgoing' : 'Incoming',
        sendertype: author === 'assistant' ? 'agent' : 'customer',
      }),
      time: (ms) => ({ createdon: iso(ms) }),
    },
    paging: paging(byToken('$skiptoken'), (page) => ({
      '@odata.context': 'http://service/v1/$metadata#spaces',
      '@Microsoft.Dynamics.CRM.totalrecordcount': -1,
      '@Microsoft.Dynamics.CRM.totalrecordcountlimitexceeded': false,
      value: page.items,
      ...(page.hasNext && { '@odata.nextLink': page.link({ $skiptoken: tokenOf(page) ?? '' }) }),
    })),
    error: ({ sentence }) => ({ error: { code: '0x80040217', message: sentence } }),
  },
  {
    name: 'oracle-ords',
    like: 'Oracle REST Data Services: hasMore, limit, offset, count of the page, links with rel next; errors with a tag URI',
    ids: numbers,
    names: {
      id: 'id',
      wrap: (_resource, fields, id) => ({ ...fields, links: [{ rel: 'self', href: `http://service/ords/x/${id}` }] }),
      author: (author) => ({ is_agent: author === 'assistant' ? 'Y' : 'N' }),
      time: (ms) => ({ created_on: iso(ms) }),
    },
    paging: paging(byOffset(), ({ items, hasNext, size, from, link }) => ({
      items,
      hasMore: hasNext,
      limit: size,
      offset: from,
      count: items.length,
      links: [
        { rel: 'self', href: link({}) },
        { rel: 'describedby', href: 'http://service/ords/metadata-catalog/item' },
        { rel: 'first', href: link({ offset: 0 }) },
        ...(hasNext ? [{ rel: 'next', href: link({ offset: from + size }) }] : []),
      ],
    })),
    error: ({ sentence, code }) => ({
      code,
      title: 'Error',
      message: sentence,
      type: 'tag:oracle.com,2020:error/NotFound',
      instance: 'tag:oracle.com,2020:ecid/7f',
    }),
  },
  {
    name: 'hubspot-1',
    like: 'HubSpot v1: has-more and offset with hyphens, properties as objects with a value and versions, epoch milliseconds',
    ids: numbers,
    names: {
      letterCase: 'camel',
      paths: { 'space.name': 'properties.name.value', 'agent.name': 'properties.name.value' },
      author: (author) => ({ senderType: author === 'user' ? 'VISITOR' : 'BOT' }),
      time: (ms) => ({ addedAt: ms }),
      wrap: (_resource, fields) => ({ portalId: 62515, ...fields, isDeleted: false, 'merge-audits': [] }),
    },
    paging: paging(byOffset(), ({ key, items, hasNext, from, size }) => ({
      [key]: items,
      'has-more': hasNext,
      offset: from + size,
    })),
    error: ({ sentence }) => ({ status: 'error', message: sentence, correlationId: 'a43683b0', requestId: 'r-9' }),
  },
  {
    name: 'kintone-records',
    like: 'kintone: every value is an object with type and value; totalCount is a string',
    ids: digits,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ role: author }),
      wrap: (resource, fields) => (resource === 'message' ? fields : typed(fields)),
    },
    paging: paging(byOffset(), ({ items, total }) => ({ records: items, totalCount: String(total) })),
    error: ({ sentence }) => ({ code: 'GAIA_RE01', id: '1505999166-897850006', message: sentence }),
  },
  {
    name: 'zoho-creator',
    like: 'Zoho Creator: code 3000 means success, 3100 failure, under status 200; ids are long strings of digits',
    ids: (number) => `388804200000${8_000_000 + number}`,
    created: 200,
    names: {
      id: 'ID',
      time: (ms) => ({ Added_Time: iso(ms) }),
      author: (author) => ({ Sent_By: author === 'user' ? 'Customer' : 'Bot' }),
      text: (text) => ({ Message: text }),
    },
    one: (_resource, data) => ({ code: 3000, data, message: 'success' }),
    paging: paging(byOffset('from'), ({ items, total }) => ({ code: 3000, data: items, count: total })),
    errorStatus: 200,
    error: ({ sentence }) => ({ code: 3100, message: sentence }),
  },
  {
    name: 'workday',
    like: 'Workday: objects have an id and a descriptor, references too; total beside data, offset and limit',
    ids: (number) => `3aa5550b7fe348b98d7b5741afc6${number.toString(16).padStart(4, '0')}`,
    names: {
      id: 'id',
      paths: {
        'space.name': 'descriptor',
        'agent.name': 'descriptor',
        'cron_job.name': 'descriptor',
        'source.name': 'descriptor',
        'cron_job.agent_id': 'agent.id',
      },
      author: (author) => ({
        sender: { id: 'w1', descriptor: 'Someone', kind: author === 'user' ? 'Customer' : 'Agent' },
      }),
      time: (ms) => ({ createdMoment: iso(ms) }),
      text: (text) => ({ body: text }),
    },
    paging: paging(byOffset(), ({ items, total }) => ({ total, data: items })),
    error: ({ sentence }) => ({ error: 'validation error occurred.', errors: [{ error: sentence, field: 'x' }] }),
  },
  {
    name: 'bubble-io',
    like: 'Bubble: everything under response, a numeric cursor that was asked for, count of the page, remaining; names with spaces',
    ids: (number) => `17054${number}x91234${number * 7}`,
    created: 200,
    names: {
      id: '_id',
      author: (author) => ({ 'Created By': '1348x1', sender_type: author === 'user' ? 'user' : 'bot' }),
      time: (ms) => ({ 'Created Date': iso(ms), 'Modified Date': iso(ms) }),
    },
    one: (_resource, response) => ({ status: 'success', response }),
    paging: paging(byOffset('cursor'), ({ items, from, size, total }) => ({
      response: { cursor: from, results: items, count: items.length, remaining: Math.max(0, total - from - size) },
    })),
    error: ({ sentence, status }) => ({ statusCode: status, body: { status: 'ERROR', message: sentence } }),
  },
  {
    name: 'xano',
    like: 'Xano: itemsReceived, curPage, nextPage, itemsTotal; times in milliseconds; errors with a payload',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ from: author === 'user' ? 'end_user' : 'assistant' }),
      time: (ms) => ({ created_at: ms }),
    },
    paging: paging(byNumber(), ({ items, number, pages, size, total, from, hasNext }) => ({
      itemsReceived: items.length,
      curPage: number,
      nextPage: hasNext ? number + 1 : null,
      prevPage: number > 1 ? number - 1 : null,
      offset: from,
      perPage: size,
      itemsTotal: total,
      pageTotal: pages,
      items,
    })),
    error: ({ sentence }) => ({ code: 'ERROR_CODE_NOT_FOUND', message: sentence, payload: '' }),
  },
  {
    name: 'nocodb',
    like: 'NocoDB: list and pageInfo with isLastPage, pages by offset although they are numbered; `Id` and titles as names',
    ids: numbers,
    created: 200,
    names: {
      id: 'Id',
      letterCase: 'pascal',
      author: (author) => ({ Author: author }),
      time: (ms) => ({ CreatedAt: sqlTime(ms), UpdatedAt: null }),
    },
    paging: paging(byOffset(), ({ items, number, size, total, hasNext }) => ({
      list: items,
      pageInfo: {
        totalRows: total,
        page: number,
        pageSize: size,
        isFirstPage: number === 1,
        isLastPage: !hasNext,
      },
      stats: { dbQueryTime: '1.28' },
    })),
    error: ({ sentence }) => ({ msg: sentence }),
  },
  {
    name: 'snipe-it',
    like: 'Snipe-IT: total and rows, writes with status, messages, and payload, failures under 200, times as pairs of texts',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ role: author }),
      time: (ms) => ({ created_at: { datetime: sqlTime(ms), formatted: 'Mon Mar 02, 2026' } }),
      wrap: (_resource, fields) => ({ ...fields, available_actions: { update: true, delete: false } }),
    },
    one: (_resource, payload) => ({ status: 'success', messages: 'Created successfully.', payload }),
    paging: paging(byOffset(), ({ items, total }) => ({ total, rows: items })),
    errorStatus: 200,
    error: ({ sentence }) => ({ status: 'error', messages: { id: [sentence] }, payload: null }),
  },
  {
    name: 'zuora',
    like: 'Zuora: success true or false under status 200, reasons with codes of eight digits, nextPage is an address',
    ids: uuids,
    created: 200,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ direction: author === 'user' ? 'in' : 'out' }),
      time: (ms) => ({ createdDate: sqlTime(ms) }),
    },
    one: (_resource, fields) => ({ ...fields, success: true }),
    paging: paging(byNumber(), ({ key, items, number, hasNext, link }) => ({
      [key]: items,
      ...(hasNext && { nextPage: link({ page: number + 1 }) }),
      success: true,
    })),
    errorStatus: 200,
    error: ({ sentence }) => ({
      success: false,
      processId: '04DE',
      reasons: [{ code: 53_100_020, message: sentence }],
    }),
  },
  {
    name: 'insightly',
    like: 'Insightly: names in capitals, SPACE_NAME, bare arrays, X-Total-Count, skip and top',
    ids: numbers,
    names: {
      paths: { 'space.name': 'SPACE_NAME', 'agent.name': 'AGENT_NAME', 'cron_job.name': 'CRON_JOB_NAME' },
      author: (author) => ({ SENDER_TYPE: author === 'user' ? 'CONTACT' : 'AGENT' }),
      time: (ms) => ({ DATE_CREATED_UTC: sqlTime(ms) }),
      wrap: (_resource, fields) =>
        Object.fromEntries(Object.entries(fields).map(([key, value]) => [key.toUpperCase(), value])),
    },
    paging: paging(byOffset('skip'), ({ items }) => items, {
      headers: ({ total }) => ({ 'X-Total-Count': String(total) }),
    }),
    error: ({ sentence }) => ({ Message: sentence }),
  },
  {
    name: 'guidewire-cloud',
    like: 'Guidewire: data of attributes with checksum and links that have methods, no total, first and next as objects',
    ids: (number, resource) => `pc:${resource.slice(0, 2)}${number}`,
    names: {
      id: 'id',
      letterCase: 'camel',
      wrap: (_resource, attributes, id) => ({
        attributes,
        checksum: 'c2a1',
        links: { self: { href: `/x/v1/${id}`, methods: ['get', 'patch'] } },
      }),
      author: (author) => ({ author: { code: author === 'user' ? 'insured' : 'agent', name: 'x' } }),
      time: (ms) => ({ createTime: iso(ms) }),
    },
    one: (_resource, data) => ({ data }),
    paging: paging(byToken('pageOffset'), (page) => ({
      count: page.items.length,
      data: page.items,
      links: {
        first: { href: page.path({ pageOffset: '' }), methods: ['get'] },
        ...(page.hasNext && {
          next: { href: page.path({ pageOffset: token(page.from + page.size) }), methods: ['get'] },
        }),
        self: { href: page.path({}), methods: ['get'] },
      },
    })),
    error: ({ status, sentence }) => ({
      status,
      errorCode: 'gw.api.rest.exceptions.NotFoundException',
      userMessage: sentence,
      developerMessage: 'see the log',
    }),
  },
  {
    name: 'amocrm',
    like: 'amoCRM: _page, HAL, 204 for a list without items, epoch seconds, problem+json with validation-errors',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ author: { id: 9, type: author === 'user' ? 'contact' : 'bot' } }),
      time: (ms) => ({ created_at: ms / 1000, updated_at: 0 }),
      wrap: (_resource, fields, id) => ({
        ...fields,
        account_id: 77,
        _links: { self: { href: `https://x/api/v4/${id}` } },
      }),
    },
    paging: paging(byNumber(), ({ key, items, number, hasNext, link }) => ({
      _page: number,
      _links: { self: { href: link({}) }, ...(hasNext && { next: { href: link({ page: number + 1 }) } }) },
      _embedded: { [key]: items },
    })),
    history: {
      paging: newestFirst(
        paging(byNumber(), ({ key, items, number, hasNext, link }) => ({
          _page: number,
          _links: { self: { href: link({}) }, ...(hasNext && { next: { href: link({ page: number + 1 }) } }) },
          _embedded: { [key]: items },
        })),
      ),
    },
    errorType: 'application/problem+json',
    error: ({ sentence, status }) => ({
      title: 'Bad Request',
      type: 'https://httpstatus.es/400',
      status,
      detail: 'Request validation failed',
      'validation-errors': [{ request_id: '0', errors: [{ code: 'NotFound', path: 'id', detail: sentence }] }],
    }),
  },
  {
    name: 'magento',
    like: 'Magento: search_criteria echoes the request, total_count beside, the page is searchCriteria[currentPage]',
    ids: numbers,
    created: 200,
    names: {
      id: 'entity_id',
      author: (author) => ({ is_agent: author === 'assistant' }),
      time: (ms) => ({ created_at: sqlTime(ms) }),
      wrap: (_resource, fields) => ({ ...fields, extension_attributes: [], custom_attributes: [] }),
    },
    paging: paging(byNumber('searchCriteria[currentPage]'), ({ items, number, size, total }) => ({
      items,
      search_criteria: { filter_groups: [], page_size: size, current_page: number },
      total_count: total,
    })),
    error: ({ sentence }) => ({ message: sentence, parameters: { fieldName: 'id' }, trace: null }),
  },
  {
    name: 'adyen-management',
    like: 'Adyen: itemsTotal, pagesTotal, _links, pageNumber from 1; ids in capitals; invalidFields in errors',
    ids: (number, resource) => `${resource.slice(0, 2).toUpperCase()}3227C223222B5GJ${number}`,
    created: 200,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ authorType: author === 'user' ? 'shopper' : 'bot' }),
      time: (ms) => ({ creationDate: iso(ms) }),
    },
    paging: paging(byNumber('pageNumber'), ({ items, number, pages, total, hasNext, link }) => ({
      _links: {
        ...(hasNext && { next: { href: link({ pageNumber: number + 1 }) } }),
        last: { href: link({ pageNumber: pages }) },
        self: { href: link({}) },
      },
      itemsTotal: total,
      pagesTotal: pages,
      data: items,
    })),
    error: ({ status, sentence }) => ({
      type: 'https://docs.adyen.com/errors/validation',
      title: 'Invalid request',
      status,
      detail: 'See invalidFields.',
      errorCode: '10_003',
      requestId: 'DDK',
      invalidFields: [{ name: 'id', message: sentence }],
    }),
  },
  {
    name: 'kayako-classic',
    like: 'Kayako: status and resource beside data, next_url and total_count, legacy ids next to ids',
    ids: prefixed,
    names: {
      id: 'id',
      wrap: (resource, fields, id) => ({
        ...fields,
        legacy_id: null,
        resource_type: resource,
        resource_url: `/x/${id}`,
      }),
      author: (author) => ({ creator: { id: 1, role: { id: 4, type: author === 'user' ? 'CUSTOMER' : 'AGENT' } } }),
      text: (contents) => ({ contents }),
      time: (ms) => ({ created_at: iso(ms) }),
    },
    one: (resource, data) => ({ status: 201, data, resource }),
    paging: paging(byOffset(), ({ resource, items, from, size, total, hasNext, link }) => ({
      status: 200,
      data: items,
      resource,
      offset: from,
      limit: size,
      total_count: total,
      ...(hasNext && { next_url: link({ offset: from + size, limit: size }) }),
      session_id: '6kEVKi3c',
    })),
    error: ({ status, sentence }) => ({
      status,
      errors: [{ code: 'RESOURCE_NOT_FOUND', message: sentence, more_info: 'https://developer.kayako.com' }],
      notifications: [],
    }),
  },
];
