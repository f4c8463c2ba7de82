import * as v from 'valibot';

/** The newest format that this version reads. */
const BUNDLE_VERSION = 1;

const headSchema = v.object({
  kind: v.literal('bundle'),
  version: v.pipe(v.number(), v.integer()),
});

const headerValue = v.pipe(v.string(), v.regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be a valid header value'));
const headerName = v.pipe(v.string(), v.regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be a valid header name'));

const exchangeSchema = v.object({
  kind: v.literal('exchange'),
  /** When it was recorded, in ISO 8601. */
  at: v.nullable(v.string()),
  method: v.string(),
  /** Relative to the base URL. */
  path: v.pipe(v.string(), v.startsWith('/')),
  query: v.array(v.tuple([v.string(), v.string()])),
  request_body: v.unknown(),
  /** Null if there was no response. */
  status: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599))),
  headers: v.record(headerName, headerValue),
  body: v.nullable(v.union([v.object({ json: v.unknown() }), v.object({ text: v.string() })])),
});

/** A recorded request, and its response. */
export type RecordedExchange = v.InferOutput<typeof exchangeSchema>;

const contractSchema = v.object({
  kind: v.literal('contract'),
  values: v.array(v.object({ leaf: v.string(), value: v.string(), source: v.string() })),
});

/** What a replay uses of a bundle. */
export interface Bundle {
  readonly exchanges: readonly RecordedExchange[];
  /** The values of the contract that the client used. */
  readonly contract: readonly { readonly leaf: string; readonly value: string; readonly source: string }[];
}

/** A line of a bundle that cannot be read. */
export class BundleLineError extends Error {
  /** The name of the wrong field, if there is one. */
  readonly key: string | undefined;

  constructor(message: string, key?: string) {
    super(message);
    this.key = key;
  }
}

function parseLine<Schema extends v.GenericSchema>(schema: Schema, value: unknown): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const key = issue.path?.findLast((item) => typeof item.key === 'string')?.key;
  const path = v.getDotPath(issue);
  throw new BundleLineError(`${path ?? 'it'}: ${issue.message}`, typeof key === 'string' ? key : undefined);
}

/** Collects a bundle from its parsed lines, in order. */
export class BundleReader implements Bundle {
  readonly exchanges: RecordedExchange[] = [];
  contract: Bundle['contract'] = [];
  private hasHead = false;

  /** Adds a line. Ignores other kinds of lines, which are for people. @throws BundleLineError for an invalid line */
  add(value: unknown): void {
    if (!this.hasHead) {
      const { version } = parseLine(headSchema, value);
      if (version > BUNDLE_VERSION) {
        throw new BundleLineError(`it has format ${version}; update partnerctl to read it`, 'version');
      }
      this.hasHead = true;
      return;
    }
    const { kind } = parseLine(v.object({ kind: v.string() }), value);
    if (kind === 'exchange') this.exchanges.push(parseLine(exchangeSchema, value));
    if (kind === 'contract') this.contract = parseLine(contractSchema, value).values;
  }

  /** @throws BundleLineError for an empty file */
  end(): Bundle {
    if (!this.hasHead) throw new BundleLineError('it is empty');
    return this;
  }
}
