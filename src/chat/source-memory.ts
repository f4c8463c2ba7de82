import { hash } from 'node:crypto';
import type { AgentInput } from '../cli/agent-args.ts';
import type { Context } from '../cli/context.ts';
import { LocalError, UsageError } from '../errors.ts';
import { appendRecord } from '../state-old/append.ts';
import { readLog } from '../state-old/file-store.ts';
import { fieldText, isText, isTextOrNull, type LogRecord, randomRecordId, recordHead } from '../state-old/record.ts';

/** What is remembered of an agent. */
export interface RememberedSource {
  readonly agent_id: string;
  /** Null if the source is no longer valid. */
  readonly source_id: string | null;
}

export const SOURCE_TYPE = 'chat.source';
const KEY_LENGTH = 24;

/** A name may be given to another agent: what it means is looked up again after this time. */
const NAME_VALID_MS = 24 * 60 * 60 * 1_000;

/** The state keeps no names, only a hash of how the command line names the agent. */
function referenceHash(origin: string, { agent, space }: AgentInput): string {
  const text = JSON.stringify([origin, agent.by, agent.value, space ?? null]);
  return hash('sha256', text, 'hex').slice(0, KEY_LENGTH);
}

/** Remembers the sources of agents in this machine's state file, so that they need not be looked up again. */
export class SourceMemory {
  private readonly context: Context;
  private readonly origin: string;

  constructor(context: Context, origin: string) {
    this.context = context;
    this.origin = origin;
  }

  /** The remembered source_id of an agent; undefined if there is none, or if the state file cannot be read. */
  async read(input: AgentInput): Promise<string | undefined> {
    const { by, value } = input.agent;
    const [field, wanted] = by === 'id' ? ['agent_id', value] : ['reference', referenceHash(this.origin, input)];
    let last: LogRecord | undefined;
    await this.attempt(async (path) => {
      for await (const entry of readLog(path, { containing: [fieldText(field, wanted)] })) {
        if (entry.kind !== 'record') continue;
        const { type, origin, source_id } = entry.record;
        const isOwn = type === SOURCE_TYPE && origin === this.origin && entry.record[field] === wanted;
        if (isOwn && isTextOrNull(source_id)) last = entry.record;
      }
    });
    if (!last || !isText(last.source_id)) return undefined;
    const age = this.context.clock.now() - Date.parse(last.at);
    return by === 'id' || (age >= 0 && age < NAME_VALID_MS) ? last.source_id : undefined;
  }

  /** Remembers the source of an agent, unless that is what is remembered. */
  async remember(input: AgentInput, source: RememberedSource): Promise<void> {
    if ((await this.read(input)) !== source.source_id) await this.write(input, source);
  }

  /** Remembers the source of an agent. A state file that cannot be written costs another lookup, no more. */
  async write(input: AgentInput, { agent_id, source_id }: RememberedSource): Promise<void> {
    const { clock, redact } = this.context;
    const head = recordHead(SOURCE_TYPE, { now: () => clock.now(), newId: randomRecordId });
    const reference = referenceHash(this.origin, input);
    const record = { ...head, origin: this.origin, reference, agent_id, source_id };
    await this.attempt((path) => appendRecord(path, record, redact));
  }

  private async attempt(act: (path: string) => Promise<void>): Promise<void> {
    try {
      await act(await this.context.statePath());
    } catch (error) {
      const isWithoutHome = error instanceof UsageError && this.context.flags.state === undefined;
      if (!(error instanceof LocalError) && !isWithoutHome) throw error;
    }
  }
}
