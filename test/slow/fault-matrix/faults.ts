import { gzipSync } from 'node:zlib';
import type { Fault, FaultScene, Step } from './fault.ts';
import { bytesOf, headOf } from './http-message.ts';

const write = (bytes: Buffer | string): Step => ({ do: 'write', bytes });
const pause = (ms: number): Step => ({ do: 'pause', ms });
const RESET: Step = { do: 'reset' };
const END: Step = { do: 'end' };

const JSON_TYPE = { 'content-type': 'application/json' };

/** A complete response. */
function respond(status: string, body: string | Buffer, headers: Record<string, string> = JSON_TYPE): readonly Step[] {
  const bytes = Buffer.from(body);
  return [write(Buffer.concat([Buffer.from(headOf(status, { ...headers, 'content-length': bytes.length })), bytes]))];
}

/** A gateway's page that repeats the request's headers, as some do to help with debugging. */
const page =
  (status: string) =>
  ({ request }: FaultScene): readonly Step[] =>
    respond(status, `<html><head><title>${status}</title></head><body><pre>${request.head}</pre></body></html>`, {
      'content-type': 'text/html',
    });

/** An error in the service's own format, which repeats the Authorization header. */
const problem =
  (status: string, code: string, headers: Record<string, string> = {}) =>
  ({ request }: FaultScene): readonly Step[] => {
    const error = { code, message: `Not now: ${request.headers.authorization}` };
    return respond(status, JSON.stringify({ error }), { ...JSON_TYPE, ...headers });
  };

const redirect =
  (status: string) =>
  ({ request, elsewhere }: FaultScene): readonly Step[] =>
    respond(status, '', { location: `${elsewhere}${request.path}` });

/** The true response, with its head and its body passed to `spoil`. */
const spoil =
  (steps: (head: string, body: Buffer, scene: FaultScene) => readonly Step[]) =>
  (scene: FaultScene): readonly Step[] => {
    const { status, headers, body } = scene.response;
    return steps(headOf(status, { ...headers, 'content-length': body.length }), body, scene);
  };

/** The true response with other header lines for its body. */
const reframe =
  (frame: (body: Buffer) => { readonly headers: Record<string, string | number>; readonly bytes: Buffer }) =>
  ({ response }: FaultScene): readonly Step[] => {
    const { headers, bytes } = frame(response.body);
    return [write(headOf(response.status, { ...response.headers, ...headers })), write(bytes)];
  };

const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

const half = (bytes: Buffer): Buffer => bytes.subarray(0, Math.ceil(bytes.length / 2));

function drip(bytes: Buffer): Step[] {
  const size = Math.ceil(bytes.length / 12);
  return Array.from({ length: 12 }, (_, index) => bytes.subarray(index * size, (index + 1) * size)).flatMap((piece) => [
    write(piece),
    pause(4),
  ]);
}

/** A response before the final one. */
const informational =
  (head: string) =>
  ({ response }: FaultScene): readonly Step[] => [write(`HTTP/1.1 ${head}\r\n\r\n`), write(bytesOf(response))];

/** The true response with changed JSON. */
const rewrite =
  (change: (text: string, scene: FaultScene) => string) =>
  (scene: FaultScene): readonly Step[] => {
    const body = Buffer.from(change(scene.response.body.toString(), scene));
    return [write(bytesOf({ ...scene.response, body }))];
  };

const GZIP = { ...JSON_TYPE, 'content-encoding': 'gzip' };
/** 80 MiB of spaces in 80 KB. */
const BOMB = gzipSync(Buffer.alloc(80 * 1024 * 1024, ' '));
const DEEP = '['.repeat(5_000) + ']'.repeat(5_000);
const HUGE_HEADER = { 'x-filler': 'x'.repeat(100_000) };

const CONNECTION: readonly Fault[] = [
  { name: 'refused', meaning: 'unsent', connection: 'refuse', lasting: true },
  { name: 'reset-on-accept', meaning: 'unseen', connection: 'reset' },
  { name: 'reset-in-request', meaning: 'unseen', only: 'writes', resetsInRequest: true },
  { name: 'reset-before', meaning: 'lost', steps: () => [RESET] },
  { name: 'reset-after', meaning: 'lost', carriedOut: 'first', steps: () => [RESET] },
  { name: 'reset-always', meaning: 'outage', carriedOut: 'first', lasting: true, steps: () => [RESET] },
  { name: 'keep-alive-closed', meaning: 'harmless', closesKeptAlive: true },
  { name: 'stall-on-accept', meaning: 'late', connection: 'silence' },
  { name: 'stall-before-head', meaning: 'late', steps: () => [] },
  { name: 'stall-after-head', meaning: 'late', carriedOut: 'first', steps: spoil((head) => [write(head)]) },
  {
    name: 'stall-in-body',
    meaning: 'late',
    carriedOut: 'first',
    steps: spoil((head, body) => [write(head), write(half(body))]),
  },
];

const FRAMING: readonly Fault[] = [
  {
    name: 'cut-in-head',
    meaning: 'lost',
    carriedOut: 'first',
    steps: spoil((head) => [write(half(Buffer.from(head))), END]),
  },
  {
    name: 'cut-in-body',
    meaning: 'lost',
    carriedOut: 'first',
    steps: spoil((head, body) => [write(head), write(half(body)), END]),
  },
  {
    name: 'cut-in-chunks',
    meaning: 'lost',
    carriedOut: 'first',
    steps: (scene) => [
      ...reframe((body) => ({ headers: { 'transfer-encoding': 'chunked' }, bytes: chunk(half(body)) }))(scene),
      END,
    ],
  },
  { name: 'slow', meaning: 'harmless', carriedOut: 'first', steps: ({ response }) => drip(bytesOf(response)) },
  {
    name: 'length-too-long',
    meaning: 'late',
    carriedOut: 'first',
    steps: reframe((body) => ({ headers: { 'content-length': body.length + 20 }, bytes: body })),
  },
  {
    name: 'length-too-short',
    meaning: 'unreadable',
    carriedOut: 'first',
    steps: reframe((body) => ({ headers: { 'content-length': body.length - 5 }, bytes: body })),
  },
  {
    name: 'http-1.0',
    meaning: 'harmless',
    carriedOut: 'first',
    steps: ({ response }) => [
      write(headOf(response.status, response.headers).replace('HTTP/1.1', 'HTTP/1.0')),
      write(response.body),
      END,
    ],
  },
  // undici treats an unsolicited 100 as a broken connection.
  { name: '100-first', meaning: 'unseen', carriedOut: 'first', steps: informational('100 Continue') },
  {
    name: '103-first',
    meaning: 'harmless',
    carriedOut: 'first',
    steps: informational('103 Early Hints\r\nlink: </a>; rel=preload'),
  },
  {
    name: 'huge-headers',
    meaning: 'lost',
    carriedOut: 'first',
    steps: ({ response }) => [write(bytesOf(response, HUGE_HEADER))],
  },
  {
    name: 'gzip',
    meaning: 'harmless',
    carriedOut: 'first',
    steps: reframe((body) => {
      const bytes = gzipSync(body);
      return { headers: { 'content-encoding': 'gzip', 'content-length': bytes.length }, bytes };
    }),
  },
  { name: 'gzip-broken', meaning: 'unreadable', carriedOut: 'first', steps: () => respond('200 OK', 'not gzip', GZIP) },
  { name: 'gzip-bomb', meaning: 'unreadable', carriedOut: 'first', steps: () => respond('200 OK', BOMB, GZIP) },
];

const CONTENT: readonly Fault[] = [
  { name: 'not-http', meaning: 'lost', steps: () => [write('SSH-2.0-OpenSSH_9.2\r\n'), END] },
  { name: 'not-json', meaning: 'unreadable', carriedOut: 'first', steps: () => respond('200 OK', '{"spaces": [') },
  { name: 'empty-body', meaning: 'unreadable', carriedOut: 'first', steps: () => respond('200 OK', '') },
  {
    name: 'other-shape',
    meaning: 'unreadable',
    carriedOut: 'first',
    steps: () => respond('200 OK', '{"status":"ok"}'),
  },
  { name: 'nested-deeply', meaning: 'unreadable', carriedOut: 'first', steps: () => respond('200 OK', DEEP) },
  {
    name: 'foreign-links',
    meaning: 'harmless',
    carriedOut: 'first',
    only: 'reads',
    steps: rewrite((text, { elsewhere }) => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, elsewhere)),
  },
  {
    name: 'token-repeated',
    meaning: 'harmless',
    carriedOut: 'first',
    steps: rewrite((text, { request }) =>
      text.replaceAll(/"created_at":/g, `"echo":${JSON.stringify(request.headers.authorization)},"created_at":`),
    ),
  },
  { name: 'stale-list', meaning: 'stale', only: 'reads', stale: true },
  { name: 'lost-and-stale', meaning: 'stale', only: 'writes', stale: true, carriedOut: 'first', steps: () => [RESET] },
];

const STATUS: readonly Fault[] = [
  { name: 'late-504', meaning: 'lost', only: 'writes', carriedOut: 'late', steps: page('504 Gateway Timeout') },
  { name: 'html-200', meaning: 'unreadable', steps: page('200 OK') },
  { name: 'html-404', meaning: 'gateway-404', steps: page('404 Not Found') },
  { name: 'html-502', meaning: 'lost', steps: page('502 Bad Gateway') },
  { name: 'html-503-always', meaning: 'outage', lasting: true, steps: page('503 Service Unavailable') },
  { name: '500-after', meaning: 'lost', carriedOut: 'first', steps: problem('500 Oops', 'internal_error') },
  { name: '503', meaning: 'lost', steps: problem('503 Unavailable', 'unavailable', { 'retry-after': '1' }) },
  { name: '429', meaning: 'limited', steps: problem('429 Slow', 'rate_limited') },
  { name: '429-retry-after', meaning: 'limited', steps: problem('429 Slow', 'rate_limited', { 'retry-after': '2' }) },
  { name: '429-for-hours', meaning: 'closed', steps: problem('429 Slow', 'rate_limited', { 'retry-after': '7200' }) },
  { name: '402', meaning: 'balance', steps: problem('402 Pay', 'organization_balance_too_low') },
  { name: '401', meaning: 'denied', steps: problem('401 Who', 'invalid_token') },
  { name: '403', meaning: 'forbidden', steps: problem('403 No', 'missing_scope') },
  { name: '404', meaning: 'not-found', steps: problem('404 Nothing', 'not_found') },
  { name: 'redirect-302', meaning: 'redirect', steps: redirect('302 Found') },
  { name: 'redirect-307', meaning: 'redirect', steps: redirect('307 Temporary Redirect') },
];

/** Every fault, in the order of the table's columns. */
export const FAULTS: readonly Fault[] = [...CONNECTION, ...FRAMING, ...CONTENT, ...STATUS];
