import { digits, numbers, prefixed, snowflakes, uuids } from '../ids.ts';
import {
  byHeader,
  byLastId,
  byNumber,
  byOffset,
  byToken,
  newestFirst,
  paging,
  token,
  tokenOf,
  unpaged,
} from '../paging.ts';
import type { Service } from '../service.ts';

/** Standards, clouds, and developer tools, with conventions that were not used to develop the client. */

const iso = (ms: number): string => new Date(ms).toISOString();

const STANDARDS: readonly Service[] = [
  {
    name: 'scim',
    like: 'SCIM: Resources, startIndex from 1, itemsPerPage, totalResults; meta; displayName',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      paths: { 'space.name': 'displayName', 'agent.name': 'displayName', 'space.external_space_id': 'externalId' },
      wrap: (resource, fields) => ({
        schemas: [`urn:ietf:params:scim:schemas:${resource}`],
        ...fields,
        meta: { resourceType: resource, version: 'W/"1"' },
      }),
    },
    paging: paging(byOffset('startIndex', 1), ({ items, total, from }) => ({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: total,
      startIndex: from + 1,
      itemsPerPage: items.length,
      Resources: items,
    })),
    mediaType: 'application/scim+json',
    error: ({ status, sentence }) => ({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      detail: sentence,
    }),
  },
  {
    name: 'fhir',
    like: 'FHIR: a Bundle with entry and resource, link as a list of relations; an OperationOutcome',
    ids: digits,
    names: { id: 'id', letterCase: 'camel', wrap: (resourceType, fields) => ({ resourceType, ...fields }) },
    paging: paging(byToken('_page_token'), (page) => ({
      resourceType: 'Bundle',
      type: 'searchset',
      total: page.total,
      link: [
        { relation: 'self', url: page.link({}) },
        ...(page.hasNext ? [{ relation: 'next', url: page.link({ _page_token: tokenOf(page) ?? '' }) }] : []),
      ],
      entry: page.items.map((resource) => ({ fullUrl: 'urn:uuid:1', resource, search: { mode: 'match' } })),
    })),
    mediaType: 'application/fhir+json',
    error: ({ sentence }) => ({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', code: 'invalid', diagnostics: sentence }],
    }),
  },
  {
    name: 'activity-streams',
    like: 'ActivityStreams: an OrderedCollectionPage with orderedItems, next, totalItems',
    ids: numbers,
    names: {
      id: 'id',
      letterCase: 'camel',
      text: (content) => ({ content }),
      time: (ms) => ({ published: iso(ms) }),
      wrap: (type, fields) => ({ type, ...fields }),
    },
    paging: paging(byNumber(), ({ items, total, number, hasNext, link }) => ({
      '@context': 'https://www.w3.org/ns/activitystreams',
      type: 'OrderedCollectionPage',
      totalItems: total,
      ...(hasNext && { next: link({ page: number + 1 }) }),
      orderedItems: items,
    })),
    mediaType: 'application/activity+json',
    error: ({ sentence }) => ({ error: sentence }),
  },
  {
    name: 'stac',
    like: 'OGC API: features with properties, links, numberMatched, numberReturned; two arrays',
    ids: prefixed,
    names: {
      id: 'id',
      wrap: (_resource, { id, ...properties }) => ({ type: 'Feature', id, geometry: null, properties }),
    },
    paging: paging(byOffset(), ({ items, total, from, size, hasNext, link }) => ({
      type: 'FeatureCollection',
      links: [
        { rel: 'self', type: 'application/geo+json', href: link({}) },
        ...(hasNext ? [{ rel: 'next', type: 'application/geo+json', href: link({ offset: from + size }) }] : []),
      ],
      numberMatched: total,
      numberReturned: items.length,
      features: items,
    })),
    error: ({ code, sentence }) => ({ code, description: sentence }),
  },
  {
    name: 'collection-json',
    like: 'Collection+JSON: items with data as a list of names and values',
    ids: digits,
    names: {
      id: 'id',
      wrap: (resource, fields, id) => ({
        href: `/v1/${resource}s/${id}`,
        data: Object.entries(fields).map(([name, value]) => ({ name, value })),
      }),
    },
    one: (_resource, item) => ({ collection: { version: '1.0', items: [item] } }),
    paging: paging(byNumber(), ({ items, number, hasNext, link }) => ({
      collection: {
        version: '1.0',
        href: link({}),
        links: hasNext ? [{ rel: 'next', href: link({ page: number + 1 }) }] : [],
        items,
      },
    })),
    mediaType: 'application/vnd.collection+json',
    error: ({ code, sentence }) => ({
      collection: { version: '1.0', error: { title: 'Error', code, message: sentence } },
    }),
  },
  {
    name: 'json-feed',
    like: 'JSON Feed: items with titles, next_url; date_published',
    ids: uuids,
    names: {
      id: 'id',
      paths: { 'space.name': 'title', 'agent.name': 'title', 'cron_job.name': 'title' },
      text: (content_text) => ({ content_text }),
      author: (author) => ({
        authors: [{ name: 'X' }],
        author: { name: 'X', type: author === 'user' ? 'person' : 'bot' },
      }),
      time: (ms) => ({ date_published: iso(ms) }),
    },
    paging: paging(byToken('cursor'), (page) => ({
      version: 'https://jsonfeed.org/version/1.1',
      title: page.key,
      ...(page.hasNext && { next_url: page.link({ cursor: tokenOf(page) ?? '' }) }),
      items: page.items,
    })),
    mediaType: 'application/feed+json',
  },
];

const CLOUDS: readonly Service[] = [
  {
    name: 'azure-devops',
    like: 'Azure DevOps: count of the page, value; the header x-ms-continuationtoken',
    ids: uuids,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ createdDate: iso(ms) }) },
    paging: paging(byToken('continuationToken'), ({ items }) => ({ count: items.length, value: items }), {
      headers: (page): Record<string, string> =>
        page.hasNext ? { 'x-ms-continuationtoken': tokenOf(page) ?? '' } : {},
    }),
    error: ({ code, sentence }) => ({ $id: '1', innerException: null, message: sentence, typeKey: code, errorCode: 0 }),
    created: 200,
  },
  {
    name: 'cosmos',
    like: 'Azure Cosmos: Documents and _count; x-ms-continuation in answers and requests alike',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      wrap: (_resource, fields) => ({ ...fields, _rid: 'Sl8fALN4sw4=', _etag: '"0"', _ts: 1_772_442_000 }),
    },
    paging: paging(
      byHeader('x-ms-continuation'),
      ({ items }) => ({ _rid: 'Sl8f', Documents: items, _count: items.length }),
      {
        headers: (page): Record<string, string> =>
          page.hasNext
            ? { 'x-ms-continuation': tokenOf(page) ?? '', 'x-ms-item-count': String(page.items.length) }
            : { 'x-ms-item-count': String(page.items.length) },
      },
    ),
    error: ({ code, sentence }) => ({ code, message: sentence }),
  },
  {
    name: 's3-v2',
    like: 'S3 ListObjectsV2: IsTruncated, NextContinuationToken, KeyCount, Contents; ContinuationToken',
    ids: prefixed,
    names: { id: 'Id', letterCase: 'pascal' },
    paging: paging(byToken('ContinuationToken'), (page) => ({
      Name: 'partner',
      KeyCount: page.items.length,
      MaxKeys: 1000,
      IsTruncated: page.hasNext,
      ...(page.hasNext && { NextContinuationToken: tokenOf(page) }),
      Contents: page.items,
    })),
    error: ({ code, sentence }) => ({ Code: code, Message: sentence, RequestId: 'r-1' }),
  },
  {
    name: 'aws-arns',
    like: 'AWS with JSON 1.1: nextToken in camel case, ids are ARNs with slashes',
    ids: (number, resource) => `arn:aws:chat:eu-central-1:123456789012:${resource}/${number}ab`,
    names: {
      letterCase: 'camel',
      paths: { 'agent.agent_id': 'agentArn', 'cron_job.agent_id': 'agentArn', 'space.space_id': 'spaceArn' },
    },
    paging: paging(byToken('nextToken'), (page) => ({ [page.key]: page.items, nextToken: tokenOf(page) })),
    created: 200,
    error: ({ code, sentence }) => ({ __type: code, message: sentence }),
    headers: { 'x-amzn-requestid': 'r-1' },
  },
  {
    name: 'cloudwatch-logs',
    like: 'CloudWatch Logs: events, nextForwardToken and nextBackwardToken always there, the same again at the end',
    ids: snowflakes,
    names: { id: 'id', letterCase: 'camel', text: (message) => ({ message }), time: (ms) => ({ timestamp: ms }) },
    paging: paging(byToken('nextToken'), (page) => ({
      events: page.items,
      nextForwardToken: token(page.from + page.items.length),
      nextBackwardToken: token(page.from),
    })),
    created: 200,
    error: ({ code, sentence }) => ({ __type: code, message: sentence }),
  },
  {
    name: 'api-gateway-position',
    like: 'AWS API Gateway: items and position',
    ids: (number) => `a1b2c${number}`,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ createdDate: ms / 1000 }) },
    paging: paging(byToken('position'), (page) => ({
      items: page.items,
      ...(page.hasNext && { position: tokenOf(page) }),
    })),
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'bigquery',
    like: 'BigQuery: pageToken is the token of the next page, totalItems as text, kind, etag',
    ids: digits,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ creationTime: String(ms) }) },
    paging: paging(byToken('pageToken'), (page) => ({
      kind: `partner#${page.resource}List`,
      etag: '"x1"',
      totalItems: String(page.total),
      ...(page.hasNext && { pageToken: tokenOf(page) }),
      [page.key]: page.items,
    })),
    error: ({ status, code, sentence }) => ({
      error: {
        code: status,
        message: sentence,
        errors: [{ message: sentence, domain: 'global', reason: code }],
        status: 'INVALID_ARGUMENT',
      },
    }),
    created: 200,
  },
  {
    name: 'youtube',
    like: 'YouTube: kind, etag, nextPageToken, pageInfo with totals of the page size; snippet',
    ids: (number) => `UCx5XG1OV2P6uZZ5FSM9Tt${number}`,
    names: {
      id: 'id',
      letterCase: 'camel',
      wrap: (resource, { id, ...snippet }) => ({ kind: `partner#${resource}`, etag: 'x', id, snippet }),
    },
    paging: paging(byToken('pageToken'), (page) => ({
      kind: 'partner#listResponse',
      etag: 'x',
      ...(page.hasNext && { nextPageToken: tokenOf(page) }),
      pageInfo: { totalResults: page.total, resultsPerPage: page.size },
      items: page.items,
    })),
    error: ({ status, sentence }) => ({ error: { code: status, message: sentence, errors: [] } }),
  },
  {
    name: 'gmail',
    like: 'Gmail: nextPageToken, and an estimate that counts the mailboxes of everyone',
    ids: (number) => `18c2f0a9b7e6${number}`,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ internalDate: String(ms) }) },
    paging: paging(byToken('pageToken'), (page) => ({
      [page.key]: page.items,
      ...(page.hasNext && { nextPageToken: tokenOf(page) }),
      resultSizeEstimate: 201,
    })),
    error: ({ status, sentence }) => ({ error: { code: status, message: sentence, status: 'INVALID_ARGUMENT' } }),
    created: 200,
  },
  {
    name: 'grpc-gateway-int64',
    like: 'gRPC gateway: int64 as text, enums as author, nextPageToken empty at the end, details in errors',
    ids: digits,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: author === 'user' ? 'AUTHOR_USER' : 'AUTHOR_ASSISTANT' }),
      time: (ms) => ({ createTime: iso(ms).replace('.000Z', '.123456Z') }),
    },
    one: (resource, fields) => ({ [resource === 'cron_job' ? 'cronJob' : resource]: fields }),
    paging: paging(byToken('pageToken'), (page) => ({
      [page.key]: page.items,
      nextPageToken: tokenOf(page) ?? '',
      totalSize: String(page.total),
    })),
    created: 200,
    error: ({ sentence }) => ({ code: 3, message: sentence, details: [] }),
  },
  {
    name: 'microsoft-graph-delta',
    like: 'Microsoft Graph: @odata.nextLink, and @odata.deltaLink on the last page',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      paths: { 'space.name': 'displayName', 'agent.name': 'displayName' },
      text: (content) => ({ body: { contentType: 'text', content } }),
      author: (author) => ({
        from:
          author === 'user'
            ? { user: { displayName: 'Anna' }, application: null }
            : { user: null, application: { displayName: 'Bot' } },
      }),
      time: (ms) => ({ createdDateTime: iso(ms) }),
    },
    paging: paging(byToken('$skiptoken'), (page) => ({
      '@odata.context': 'https://graph.example.com/v1.0/$metadata#items',
      value: page.items,
      ...(page.hasNext
        ? { '@odata.nextLink': page.link({ $skiptoken: tokenOf(page) ?? '' }) }
        : { '@odata.deltaLink': page.link({ $deltatoken: 'd1' }) }),
    })),
    error: ({ code, sentence }) => ({
      error: { code, message: sentence, innerError: { date: '2026-03-02', 'request-id': 'r1' } },
    }),
  },
  {
    name: 'openstack',
    like: 'OpenStack: a root key, and links beside it under its name; marker is the last id',
    ids: uuids,
    names: { id: 'id' },
    one: (resource, fields) => ({ [resource]: fields }),
    paging: paging(byLastId('marker'), ({ key, items, hasNext, lastId, link }) => ({
      [key]: items,
      ...(hasNext && { [`${key}_links`]: [{ rel: 'next', href: link({ limit: 2, marker: lastId ?? '' }) }] }),
    })),
    created: 202,
    error: ({ status, sentence }) => ({ badRequest: { code: status, message: sentence } }),
    headers: { 'x-openstack-request-id': 'req-1' },
  },
  {
    name: 'cloud-foundry-2',
    like: 'Cloud Foundry v2: resources with metadata and entity, next_url as a path, total_results',
    ids: uuids,
    names: {
      id: 'guid',
      wrap: (_resource, { guid, created_at, ...entity }) => ({
        metadata: { guid, created_at, url: `/v1/x/${guid}` },
        entity,
      }),
    },
    paging: paging(byNumber(), ({ items, total, pages, number, hasNext, path }) => ({
      total_results: total,
      total_pages: pages,
      prev_url: null,
      next_url: hasNext ? path({ page: number + 1 }) : null,
      resources: items,
    })),
    error: ({ status, code, sentence }) => ({ description: sentence, error_code: code, code: status * 10 }),
  },
  {
    name: 'cloud-foundry-3',
    like: 'Cloud Foundry v3: pagination with links as objects, resources',
    ids: uuids,
    names: { id: 'guid' },
    paging: paging(byNumber(), ({ items, total, pages, number, hasNext, link }) => ({
      pagination: {
        total_results: total,
        total_pages: pages,
        first: { href: link({ page: 1 }) },
        last: { href: link({ page: pages }) },
        next: hasNext ? { href: link({ page: number + 1 }) } : null,
        previous: null,
      },
      resources: items,
    })),
    error: ({ code, sentence }) => ({ errors: [{ code: 10_008, title: code, detail: sentence }] }),
    history: { order: 'newest first' },
  },
  {
    name: 'rancher',
    like: 'Rancher: type collection, actions, createTypes, pagination with next and partial',
    ids: (number, resource) => `c-x7k2p:${resource.slice(0, 1)}-${number}`,
    names: { id: 'id', letterCase: 'camel', wrap: (type, fields) => ({ type, links: {}, actions: {}, ...fields }) },
    paging: paging(byToken('marker'), (page) => ({
      type: 'collection',
      links: { self: page.link({}) },
      createTypes: {},
      actions: {},
      pagination: {
        limit: page.size,
        total: null,
        ...(page.hasNext && { partial: true, next: page.link({ marker: tokenOf(page) ?? '' }) }),
      },
      sort: { order: 'asc' },
      filters: {},
      resourceType: page.resource,
      data: page.items,
    })),
    error: ({ status, code, sentence }) => ({ type: 'error', status, code, message: sentence, baseType: 'error' }),
  },
  {
    name: 'nomad',
    like: 'Nomad: bare arrays in Pascal case, the header X-Nomad-NextToken; errors as plain text in JSON',
    ids: uuids,
    names: { id: 'ID', letterCase: 'pascal', time: (ms) => ({ CreateTime: ms * 1_000_000 }) },
    paging: paging(byToken('next_token'), ({ items }) => items, {
      headers: (page): Record<string, string> => (page.hasNext ? { 'x-nomad-nexttoken': tokenOf(page) ?? '' } : {}),
    }),
    headers: { 'x-nomad-index': '129', 'x-nomad-knownleader': 'true', 'x-nomad-lastcontact': '0' },
    error: ({ sentence }) => sentence,
    created: 200,
  },
  {
    name: 'hetzner',
    like: 'Hetzner: a root key, meta.pagination with next_page null at the end',
    ids: numbers,
    names: { id: 'id', time: (ms) => ({ created: iso(ms).replace('.000Z', '+00:00') }) },
    one: (resource, fields) => ({ [resource]: fields }),
    paging: paging(byNumber(), ({ key, items, number, size, pages, total, hasNext }) => ({
      [key]: items,
      meta: {
        pagination: {
          page: number,
          per_page: size,
          previous_page: number > 1 ? number - 1 : null,
          next_page: hasNext ? number + 1 : null,
          last_page: pages,
          total_entries: total,
        },
      },
    })),
    error: ({ code, sentence }) => ({ error: { code, message: sentence, details: {} } }),
  },
  {
    name: 'vultr',
    like: 'Vultr: meta.links.next is a token, empty at the end',
    ids: uuids,
    names: { id: 'id', time: (ms) => ({ date_created: iso(ms).replace('.000Z', '+00:00') }) },
    one: (resource, fields) => ({ [resource]: fields }),
    paging: paging(byToken('cursor'), (page) => ({
      [page.key]: page.items,
      meta: { total: page.total, links: { next: tokenOf(page) ?? '', prev: '' } },
    })),
    error: ({ status, sentence }) => ({ error: sentence, status }),
  },
];

const TOOLS: readonly Service[] = [
  {
    name: 'bitbucket-server',
    like: 'Bitbucket Server: values, size of the page, isLastPage, start, nextPageStart',
    ids: numbers,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ createdDate: ms }) },
    paging: paging(byOffset('start'), ({ items, size, from, hasNext }) => ({
      size: items.length,
      limit: size,
      isLastPage: !hasNext,
      values: items,
      start: from,
      nextPageStart: hasNext ? from + size : null,
    })),
    error: ({ sentence }) => ({ errors: [{ context: null, message: sentence, exceptionName: null }] }),
  },
  {
    name: 'nexus',
    like: 'Nexus: items and continuationToken, null at the end',
    ids: uuids,
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byToken('continuationToken'), (page) => ({ items: page.items, continuationToken: tokenOf(page) })),
    bodiless: { setup: 'nothing' },
    agentSource: (sourceId) => ({ apiChat: sourceId === null ? null : { id: sourceId, enabled: true } }),
    error: ({ sentence }) => [{ id: '*', message: sentence }],
  },
  {
    name: 'sonarqube',
    like: 'SonarQube: paging with pageIndex, pageSize, total; the parameter p',
    ids: (number) => `AYx${number}kQz`,
    names: { id: 'key', letterCase: 'camel', time: (ms) => ({ createdAt: iso(ms).replace('.000Z', '+0000') }) },
    one: (resource, fields) => ({ [resource]: fields }),
    paging: paging(byNumber('p'), ({ key, items, number, size, total }) => ({
      paging: { pageIndex: number, pageSize: size, total },
      [key]: items,
    })),
    created: 200,
    error: ({ sentence }) => ({ errors: [{ msg: sentence }] }),
  },
  {
    name: 'circleci',
    like: 'CircleCI: items, next_page_token, to be sent as page-token',
    ids: uuids,
    names: { id: 'id' },
    paging: paging(byToken('page-token'), (page) => ({ items: page.items, next_page_token: tokenOf(page) })),
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'travis',
    like: 'Travis: @type, @pagination with is_last and next as an object with @href and offset',
    ids: numbers,
    names: { id: 'id', wrap: (type, fields, id) => ({ '@type': type, '@href': `/v1/${type}/${id}`, ...fields }) },
    paging: paging(byOffset(), ({ key, items, from, size, total, hasNext, path }) => ({
      '@type': key,
      '@href': path({}),
      '@pagination': {
        limit: size,
        offset: from,
        count: total,
        is_first: from === 0,
        is_last: !hasNext,
        next: hasNext ? { '@href': path({ offset: from + size }), offset: from + size, limit: size } : null,
        prev: null,
      },
      [key]: items,
    })),
    error: ({ code, sentence }) => ({ '@type': 'error', error_type: code, error_message: sentence }),
  },
  {
    name: 'vercel',
    like: 'Vercel: newest first, pagination.next is a number for until, count of the page',
    ids: (number, resource) => `${resource.slice(0, 3)}_9XkP2m${number}`,
    names: { id: 'uid', letterCase: 'camel', time: (ms) => ({ createdAt: ms }) },
    paging: newestFirst(
      paging(byOffset('until'), ({ key, items, from, size, hasNext }) => ({
        [key]: items,
        pagination: { count: items.length, next: hasNext ? from + size : null, prev: from },
      })),
    ),
    history: {
      order: 'oldest first',
      paging: unpaged(({ items }) => ({
        messages: items,
        pagination: { count: items.length, next: null, prev: null },
      })),
    },
    created: 200,
    error: ({ code, sentence }) => ({ error: { code, message: sentence } }),
  },
  {
    name: 'render',
    like: 'Render: a bare array whose items each have a cursor beside the resource; nothing else speaks of more',
    ids: prefixed,
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byToken('cursor'), ({ items, resource, from }) =>
      items.map((item, index) => ({
        cursor: token(from + index + 1),
        [resource === 'cron_job' ? 'cronJob' : resource]: item,
      })),
    ),
    error: ({ sentence }) => ({ message: sentence, id: '' }),
  },
  {
    name: 'gerrit',
    like: 'Gerrit: a bare array whose last item says _more_changes',
    ids: numbers,
    names: { id: 'id', time: (ms) => ({ created: iso(ms).replace('T', ' ').replace('Z', '000000') }) },
    paging: paging(byOffset('start'), ({ items, hasNext }) =>
      items.map((item, index) => (hasNext && index === items.length - 1 ? { ...item, _more_changes: true } : item)),
    ),
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'okta',
    like: 'Okta: bare arrays, a Link header for self and one for next; rate limit headers; errorSummary',
    ids: (number) => `00u1a2b3c4d5e6f7g${number}`,
    names: {
      id: 'id',
      letterCase: 'camel',
      paths: {
        'space.name': 'profile.name',
        'space.description': 'profile.description',
        'agent.name': 'label',
        'cron_job.name': 'label',
      },
      time: (ms) => ({ created: iso(ms), lastUpdated: iso(ms) }),
      wrap: (_resource, fields) => ({ ...fields, status: 'ACTIVE', _links: { self: { href: '/x' } } }),
    },
    paging: paging(byToken('after'), ({ items }) => items, {
      headers: (page) => ({
        link: [
          `<${page.link({})}>; rel="self"`,
          ...(page.hasNext ? [`<${page.link({ after: tokenOf(page) ?? '', limit: 2 })}>; rel="next"`] : []),
        ],
      }),
    }),
    headers: { 'x-rate-limit-limit': '600', 'x-rate-limit-remaining': '599', 'x-rate-limit-reset': '1772442060' },
    error: ({ code, sentence }) => ({
      errorCode: code,
      errorSummary: sentence,
      errorLink: code,
      errorId: 'oae',
      errorCauses: [],
    }),
  },
  {
    name: 'confluent',
    like: 'Confluent: api_version, kind, metadata with next as an address, data; metadata of items',
    ids: (number, resource) => `${resource.slice(0, 2)}-${number}xk`,
    names: {
      id: 'id',
      wrap: (kind, { id, created_at, name, ...spec }) => ({
        api_version: 'v1',
        kind,
        id,
        metadata: { self: `https://x/${String(id)}`, created_at },
        ...(name !== undefined && { display_name: name }),
        spec,
      }),
    },
    paging: paging(byToken('page_token'), (page) => ({
      api_version: 'v1',
      kind: 'List',
      metadata: {
        first: page.link({}),
        ...(page.hasNext && { next: page.link({ page_token: tokenOf(page) ?? '' }) }),
        total_size: page.total,
      },
      data: page.items,
    })),
    error: ({ status, sentence }) => ({ errors: [{ id: 'e1', status: String(status), detail: sentence, source: {} }] }),
  },
  {
    name: 'datadog',
    like: 'Datadog: data with attributes, meta.page.after, page[cursor]; links.next in spaces only',
    ids: uuids,
    names: { id: 'id', wrap: (type, { id, ...attributes }) => ({ id, type, attributes }) },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byToken('page[cursor]'), (page) => ({
      data: page.items,
      meta: { elapsed: 132, status: 'done', page: page.hasNext ? { after: tokenOf(page) } : {} },
    })),
    pagings: {
      space: paging(byToken('page[cursor]'), (page) => ({
        data: page.items,
        links: page.hasNext ? { next: page.link({ 'page[cursor]': tokenOf(page) ?? '' }) } : {},
        meta: { page: page.hasNext ? { after: tokenOf(page) } : {} },
      })),
    },
    error: ({ sentence }) => ({ errors: [sentence] }),
  },
  {
    name: 'alfresco',
    like: 'Alfresco: list with entries, each with an entry, and pagination with hasMoreItems, skipCount',
    ids: uuids,
    names: { id: 'id', letterCase: 'camel' },
    one: (_resource, entry) => ({ entry }),
    paging: paging(byOffset('skipCount'), ({ items, from, size, total, hasNext }) => ({
      list: {
        pagination: { count: items.length, hasMoreItems: hasNext, totalItems: total, skipCount: from, maxItems: size },
        entries: items.map((entry) => ({ entry })),
      },
    })),
    error: ({ status, sentence }) => ({
      error: { errorKey: 'x', statusCode: status, briefSummary: sentence, stackTrace: '' },
    }),
  },
];

export const HOLDOUT_PUBLIC_1: readonly Service[] = [...STANDARDS, ...CLOUDS, ...TOOLS];
