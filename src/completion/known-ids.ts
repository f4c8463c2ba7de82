import { dirname } from 'node:path';
import { Places } from '../chat/places.ts';
import { isJsonObject } from '../contract/json.ts';
import { fileLog } from '../state/file-log.ts';
import { decode, type LogRecord } from '../state/record.ts';
import type { CacheLine } from './cache.ts';

/** The ids in the state file of this machine. */
export interface KnownIds {
  readonly sources: readonly CacheLine[];
  readonly sessions: readonly CacheLine[];
  readonly jobs: readonly CacheLine[];
  readonly keys: readonly CacheLine[];
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Returns the sources of a provisioned space, with their agents. */
function sourcesOf({ type, agents }: LogRecord): readonly CacheLine[] {
  const named = type === 'space' && Array.isArray(agents) ? agents.filter(isJsonObject) : [];
  return named.flatMap(({ source_id: value, agent_id: agent }) => {
    if (!isText(value)) return [];
    return [{ value, description: isText(agent) ? agent : '', owner: isText(agent) ? agent : '' }];
  });
}

/** Returns the intact records of a service in a state file. @throws LocalError if the file cannot be read */
async function readRecords(path: string, origin: string): Promise<readonly LogRecord[]> {
  const quoted = JSON.stringify(origin);
  const lines = ((await fileLog(path).load()) ?? []).filter((line) => line.includes(quoted));
  return lines.flatMap((line) => {
    const decoded = decode(line);
    return decoded.kind === 'record' ? [decoded.record] : [];
  });
}

/**
 * Reads the ids of a service from the state file of this machine.
 * @param path the state file
 * @param origin the base URL of the service
 * @throws LocalError if the file cannot be read
 */
export async function readKnownIds(path: string, origin: string): Promise<KnownIds> {
  const sources = new Map<string, CacheLine>();
  const jobs: CacheLine[] = [];
  const keys: CacheLine[] = [];
  for (const record of await readRecords(path, origin)) {
    for (const source of sourcesOf(record)) sources.set(source.value, source);
    const { type, key, object, data } = record;
    if (!type.startsWith('cron.') || !isJsonObject(data) || data.origin !== origin || !isText(data.name)) continue;
    const owner = isText(data.agent_id) ? data.agent_id : '';
    if (isText(object)) jobs.push({ value: object, description: data.name, owner });
    if (isText(key)) keys.push({ value: key, description: data.name, owner });
  }
  const sessions = (await new Places(dirname(path), origin, (text) => text).list()).map(({ session_id, source_id }) => {
    if (!sources.has(source_id)) sources.set(source_id, { value: source_id, description: '', owner: '' });
    return { value: session_id, description: source_id, owner: source_id };
  });
  return { sources: [...sources.values()], sessions, jobs, keys };
}
