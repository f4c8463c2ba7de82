import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { isJsonObject } from '../../../src/contract/json.ts';
import { type BundleParts, buildBundle } from '../../../src/doctor/bundle/build-bundle.ts';
import type { SeenExchange } from '../../../src/doctor/bundle/exchange.ts';
import { Pseudonyms } from '../../../src/doctor/bundle/pseudonyms.ts';
import type { Facts } from '../../../src/doctor/facts.ts';
import { LocalError, UsageError } from '../../../src/errors.ts';
import { stringifyJson } from '../../../src/output/formats/stringify-json.ts';
import { createRedactor } from '../../../src/output/redact.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const ORIGIN = 'https://api.partner.test';
const KEY = new Uint8Array(32).fill(7);

const FACTS: Facts = {
  version: '1.0.0',
  nodeVersion: '20.20.0',
  minimumNode: '20.18.1',
  isCi: false,
  profiles: { value: { names: ['default'], isExposed: false } },
  profilesPath: '/home/ada/.config/partnerctl/config.json',
  settings: {
    value: {
      profile: { value: 'default', from: 'the current profile' },
      baseUrl: { value: `${ORIGIN}/v1`, from: 'PARTNER_BASE_URL' },
      token: { kind: 'text', token: 'x', from: 'PARTNER_TOKEN', fixHint: '' },
      shadowed: [],
      overridingVariables: [],
    },
  },
  overridden: undefined,
  proxy: undefined,
  lookup: undefined,
  tokenError: undefined,
  probe: undefined,
  lists: [],
  leaves: new Contract().leaves(),
  state: { error: new LocalError('not looked at') },
};

function exchange(given: Partial<SeenExchange>): SeenExchange {
  const base = { at: undefined, method: 'GET', path: '/automation/spaces/', query: [], requestBody: null };
  return { ...base, status: 200, headers: {}, body: undefined, failure: undefined, ...given };
}

function parts(given: Partial<BundleParts>): BundleParts {
  const base = { facts: FACTS, checks: [], exchanges: [], included: [], platform: 'linux', home: '/home/ada' };
  return { ...base, at: '2026-01-01T00:00:00Z', key: KEY, redact: (text) => text, ...given };
}

function textOf(given: Partial<BundleParts>): string {
  return buildBundle(parts(given))
    .lines.map((line) => stringifyJson(line))
    .join('\n');
}

/** The first exchange of a bundle that contains this one. */
function bundled(given: Partial<SeenExchange>) {
  const { lines } = buildBundle(parts({ exchanges: [exchange(given)] }));
  return lines.find(({ kind }) => kind === 'exchange') ?? { kind: '' };
}

function bodyOf(body: unknown, status = 200): unknown {
  const { body: bundledBody } = bundled({ body, status });
  return isJsonObject(bundledBody) ? bundledBody.json : undefined;
}

/** The keys, the types of values, and the lengths of texts in JSON. */
function shapeOf(value: unknown): unknown {
  if (typeof value === 'string') return `string ${value.length}`;
  if (Array.isArray(value)) return value.map(shapeOf);
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
  return value === null ? null : typeof value;
}

const SECRET = fc.oneof(
  // Eight characters that no word of a service consists of.
  fc.stringMatching(/^[a-z]{3}[0-9]{4}[A-Z]{3}$/),
  fc.stringMatching(/^[A-Z][q-z]{7} [B-Z][q-z]{6}$/),
  fc.stringMatching(/^sk_live_[0-9a-zA-Z]{16}$/),
  fc.stringMatching(/^[q-z]{6}[0-9]{2}@[q-z]{8}\.example$/),
  fc.stringMatching(/^[QXZ][äöüé]{3}[q-z]{5}$/),
  fc.uuid(),
);

const FIELD = fc.constantFrom(
  'name',
  'id',
  'text',
  'message',
  'detail',
  'role',
  'status',
  'type',
  'next',
  'zustand',
  'url',
  'created_at',
  'total',
  'data',
  'error',
  'errors',
  'timezone',
  'code',
  'title',
);

/** Every place that can contain a secret. */
const SPELLING = fc.constantFrom<(secret: string) => string>(
  (secret) => secret,
  (secret) => `Dear ${secret}, the space was not found.`,
  (secret) => JSON.stringify({ name: secret, deep: [{ text: secret }] }),
  (secret) =>
    `${ORIGIN}/v1/automation/spaces/${encodeURIComponent(secret)}/agents/?cursor=${encodeURIComponent(secret)}`,
  (secret) => `/v1/automation/spaces/?q=${encodeURIComponent(secret)}#${secret}`,
  (secret) => `https://user:${encodeURIComponent(secret)}@elsewhere.test/${encodeURIComponent(secret)}`,
  (secret) => `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`,
  (secret) => `<b title="${secret}">${secret}</b>`,
);

/** The spellings that must not be in a bundle. */
function spellings(secret: string): readonly string[] {
  const base64 = Buffer.from(`user:${secret}`).toString('base64').slice(8, -4);
  return [
    secret,
    encodeURIComponent(secret),
    base64,
    ...secret.split(/[^\p{L}\p{N}]+/u).filter((run) => run.length >= 6),
  ];
}

const NESTED = (leaf: fc.Arbitrary<unknown>) =>
  fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.dictionary(FIELD, tie('value'), { minKeys: 1, maxKeys: 3 }),
      fc.array(tie('value'), { minLength: 1, maxLength: 3 }),
    ),
  })).value;

describe('a bundle contains nothing of a customer', () => {
  test('wherever a name, a text, an id, or a password is, and however it is spelled', () => {
    const seen = SECRET.chain((secret) => {
      const text = SPELLING.map((spell) => spell(secret));
      const place = fc.record<Partial<SeenExchange>>({
        body: fc.oneof(
          NESTED(text),
          text,
          text.map((inner) => `<html><p>${inner}</p></html>`),
          text.map((inner) => `[{"name": ${JSON.stringify(inner)}, "na`),
        ),
        requestBody: NESTED(text),
        headers: fc.dictionary(
          fc.constantFrom('x-customer', 'location', 'link', 'www-authenticate', 'set-cookie', 'authorization', 'etag'),
          text.map((inner) => (inner.startsWith('http') ? `<${inner}>; rel="next"` : inner)),
        ),
        query: fc.array(fc.tuple(fc.constantFrom('q', 'session_id', 'cursor', 'offset'), text), { maxLength: 3 }),
        path: fc.constantFrom(
          `/automation/spaces/${encodeURIComponent(secret)}/agents/`,
          `/customers/${encodeURIComponent(secret)}`,
        ),
        status: fc.constantFrom(200, 201, 403, 404, 422, 500),
      });
      return fc.record({ secret: fc.constant(secret), place });
    });
    fc.assert(
      fc.property(seen, fc.boolean(), ({ secret, place }, isIncluded) => {
        const given = [exchange(place)];
        const failure = new LocalError(`The service says: ${secret}`);
        const text = textOf({
          ...(isIncluded ? { included: given } : { exchanges: given }),
          // The program's error message repeats a part of the response.
          ...(!isIncluded && {
            checks: [{ name: 'service', status: 'failed', message: `Refused: ${secret}.`, hint: secret, failure }],
          }),
        });
        for (const spelling of spellings(secret)) expect(text).not.toContain(spelling);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test('or of this machine: tokens, profiles, paths, and passwords', () => {
    fc.assert(
      fc.property(SECRET, fc.stringMatching(/^[q-z]{8}$/), (secret, name) => {
        const { redact } = createRedactor([secret]);
        const settings = FACTS.settings.value;
        if (settings === undefined) throw new Error('There are no settings.');
        const location = {
          kind: 'postgres',
          address: `postgres://joe:${encodeURIComponent(secret)}@db/${name}`,
          from: '--state',
          password: secret,
          path: '',
        } as const;
        const facts: Facts = {
          ...FACTS,
          profiles: { value: { names: [name], isExposed: false } },
          profilesPath: `/srv/${name}/config.json`,
          settings: {
            value: {
              ...settings,
              profile: { value: name, from: '--profile' },
              token: {
                kind: 'file',
                path: `/run/${name}/${encodeURIComponent(secret)}`,
                from: `--token-file /run/${name}/${encodeURIComponent(secret)}`,
                fixHint: '',
              },
            },
          },
          state: {
            value: {
              location,
              exists: true,
              isWritable: true,
              records: 1,
              types: { 'cron.created': 1 },
              unusable: [{ line: 3, why: 'not a whole record' }],
            },
          },
          leaves: new Contract({ override: { 'spaces.list': `GET /x/${encodeURIComponent(secret)}` } }).leaves(),
        };
        const checks = [
          { name: 'settings', status: 'ok', message: `profile "${name}" with ${secret} of /home/ada/x`, hint: null },
        ] as const;
        const text = textOf({ facts, checks, redact, exchanges: [exchange({ body: { echo: redact(secret) } })] });
        for (const spelling of [secret, encodeURIComponent(secret), name, '/home/ada'])
          expect(text).not.toContain(spelling);
        expect(text).toContain('"cron.created":1');
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});

describe('a bundle does not contain', () => {
  const hidden = (text: string) => expect(text).not.toMatch(/muster|lovelace|geheim/i);

  test('an email address that is a key', () => {
    const text = JSON.stringify(bodyOf({ 'ada.lovelace@muster.example': 'admin', $type: 'x', '@odata.count': 3 }));
    hidden(text);
    expect(text).toContain('"$type"');
    expect(text).toContain('"@odata.count":3');
  });

  test('a key that is the name of something in the same response, wherever that is', () => {
    const text = JSON.stringify(
      bodyOf({ kunden: { Mustermann: { seats: 3 } }, items: [{ name: 'Mustermann', kunden: 1 }] }),
    );
    hidden(text);
    expect(text.match(/"kunden"/g)).toHaveLength(2);
  });

  test('the beginning of a word that a message cuts off', () => {
    const checks = [
      { name: 'service', status: 'failed', message: 'Refused: of Musterfi….', hint: 'geheimt…' },
    ] as const;
    hidden(textOf({ checks, exchanges: [exchange({ status: 422, body: { message: 'of Musterfirma' } })] }));
  });

  test('the name of a query parameter that is not a name of the API', () => {
    const text = JSON.stringify(bundled({ query: [['ada lovelace@muster', '1']] }));
    hidden(text);
    expect(JSON.stringify(bundled({ query: [['filter[name]', '1']] }))).toContain('filter[name]');
  });

  test('the host of a proxy, a host in NO_PROXY, and the name of a profile that does not exist', () => {
    const { settings: _, ...rest } = FACTS;
    const why = new UsageError('There is no profile "geheim-prod" (from PARTNER_PROFILE).', {
      hint: 'Create it with `partnerctl login --profile geheim-prod`.',
    });
    const failure = { name: 'settings', status: 'failed', message: why.message, hint: why.info.hint ?? '' } as const;
    hidden(textOf({ facts: { ...rest, settings: { error: why } }, checks: [failure] }));
    const proxy = {
      url: 'http://proxy.intern.mustermann:3128',
      from: 'HTTPS_PROXY',
      noProxy: '.lovelace.corp',
    } as const;
    const message = 'proxy.intern.mustermann:3128 from HTTPS_PROXY, not for .lovelace.corp (NO_PROXY)';
    const text = textOf({ facts: { ...FACTS, proxy: { value: proxy } }, checks: [{ ...failure, message, hint: '' }] });
    hidden(text);
    expect(text).toMatch(/"proxy":\{"value":"proxy\.\w{6}\.\w{10}:3128"/);
  });
});

describe('a bundle keeps', () => {
  test('the keys, types, and lengths of a response', () => {
    const value = NESTED(fc.oneof(SECRET, fc.integer(), fc.boolean(), fc.constant(null), fc.constant('')));
    fc.assert(
      fc.property(value, fc.constantFrom(200, 422), (body, status) => {
        fc.pre(isJsonObject(body) || Array.isArray(body));
        expect(shapeOf(bodyOf(body, status))).toEqual(shapeOf(body));
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  test.each([
    [
      'roles, states, and times',
      { role: 'assistant', status: 'in_progress', created_at: '2026-01-01T10:00:00Z', ts: 1767261600 },
    ],
    ['paging', { count: 12345, page: 2, offset: 4000, has_more: true, next: null }],
    [
      'a schedule',
      { schedule: { type: 'cron', data: { minute: '*/5', hour: '9', day_of_week: '1-5' }, timezone: 'Europe/Berlin' } },
    ],
    ['small numbers', { id: 7, seats: 12 }],
  ])('%s', (_, body) => expect(bodyOf(body)).toEqual(body));

  test('the message of an error, except for what it says about a customer', () => {
    const error = { error: { code: 'organization_balance_too_low', message: 'The balance of Globex is too low.' } };
    const body = bodyOf(error, 402);
    expect(body).toEqual({
      error: { code: error.error.code, message: expect.stringMatching(/^The balance of [A-Z][a-z]{5} is too low\.$/) },
    });
    expect(JSON.stringify(body)).not.toContain('Globex');
  });

  test('URLs of the service as placeholders, and no others', () => {
    const body = bodyOf({
      next: `${ORIGIN}/v1/automation/spaces/?offset=2000&limit=100`,
      path: '/v1/automation/spaces/?page=2',
      other: `${ORIGIN}/v2/automation`,
      far: 'https://elsewhere.test/v1',
    });
    expect(body).toEqual({
      next: '{base_url}/automation/spaces/?offset=2000&limit=100',
      path: '{base_path}/automation/spaces/?page=2',
      other: expect.stringMatching(/^\{origin\}\/\w\d\/automation$/),
      far: expect.stringMatching(/^https:\/\/[a-z]{9}\.[a-z]{4}\//),
    });
  });

  test('the keys of links and resources, but not keys that are data', () => {
    const text = JSON.stringify(
      bodyOf({
        'Globex Inc': 1,
        _links: { self: { href: '/' }, next: { href: '/' } },
        space: { id: 'q1' },
        agent: { id: 'q2' },
        members: { lovelace: { name: 'A' }, turing: { name: 'B' } },
      }),
    );
    expect(text).not.toMatch(/Globex|lovelace|turing/);
    expect(text).toMatch(/"_links":\{"self":\{"href":"\/"\},"next".*"space":.*"agent":.*"members":/);
  });

  test('the digits of integers beyond the precision of JavaScript', () => {
    const body = bundled({ body: { id: 12345678901234567890n } }).body;
    expect(body).toEqual({ text: expect.stringMatching(/^\{"id":\d{20}\}$/) });
  });
});

test('an id has one pseudonym in paths, queries, bodies, and texts, which no other id has', () => {
  const [id, other] = ['sp_8f3a2b77c1', 'sp_8f3a2b77c2'];
  const seen = bundled({
    path: `/automation/spaces/${id}/agents/`,
    query: [['space_id', id]],
    headers: { location: `/v1/automation/spaces/${id}/` },
    body: [{ space_id: id, error: `There is no ${id}.` }, { space_id: other }],
  });
  const pseudonym = String(seen.path).split('/')[3] ?? '';
  expect(pseudonym).toMatch(/^[a-z]{2}_[0-9a-f]{10}$/);
  expect(JSON.stringify(seen).split(pseudonym)).toHaveLength(6);
  expect(JSON.stringify(seen)).not.toContain(other);
});

test('pseudonyms have the form of what they replace, and are unique', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^[a-zA-Z0-9äÖ]{1,12}$/), { minLength: 1, maxLength: 60 }),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      (runs, key) => {
        const pseudonyms = new Pseudonyms(key);
        const replaced = runs.map((run) => pseudonyms.of(run));
        expect(new Set(replaced).size).toBe(runs.length);
        for (const [index, run] of runs.entries()) {
          expect(replaced[index]).not.toBe(run);
          expect(pseudonyms.of(run)).toBe(replaced[index]);
          if (run.length > 3) expect(replaced[index]).toHaveLength(run.length);
        }
      },
    ),
  );
});
