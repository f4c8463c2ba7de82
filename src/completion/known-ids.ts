import { dirname } from 'node:path';
import { Places } from '../chat/places.ts';
import { isJsonObject } from '../contract/json.ts';
import { readLog } from '../state-old/file-store.ts';
import { fieldText, isText, type LogRecord } from '../state-old/record.ts';
import type { CacheLine } from './cache.ts';

/** The ids in the state file of this machine. */
export interface KnownIds {
  readonly sources: readonly CacheLine[];
  readonly sessions: readonly CacheLine[];
  readonly jobs: readonly CacheLine[];
  readonly keys: readonly CacheLine[];
}

/** Returns the sources in a record, with their agents. */
function sourcesOf({ type, source_id, agent_id, agents }: LogRecord): readonly CacheLine[] {
  const named =
    type.startsWith('space') && Array.isArray(agents) ? agents.filter(isJsonObject) : [{ source_id, agent_id }];
  return named.flatMap(({ source_id: value, agent_id: agent }) => {
    if (!isText(value)) return [];
    return [{ value, description: isText(agent) ? agent : '', owner: isText(agent) ? agent : '' }];
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
  for await (const entry of readLog(path, { containing: [fieldText('origin', origin)] })) {
    if (entry.kind !== 'record' || entry.record.origin !== origin) continue;
    const { type, key, name, agent_id, cron_job_id } = entry.record;
    for (const source of sourcesOf(entry.record)) {
      // A later record may lack the agent.
      if (source.description !== '' || !sources.has(source.value)) sources.set(source.value, source);
    }
    if (!type.startsWith('cron.') || !isText(name)) continue;
    const owner = isText(agent_id) ? agent_id : '';
    if (isText(cron_job_id)) jobs.push({ value: cron_job_id, description: name, owner });
    if (isText(key)) keys.push({ value: key, description: name, owner });
  }
  const sessions = (await new Places(dirname(path), origin, (text) => text).list()).map(({ session_id, source_id }) => {
    if (!sources.has(source_id)) sources.set(source_id, { value: source_id, description: '', owner: '' });
    return { value: session_id, description: source_id, owner: source_id };
  });
  return { sources: [...sources.values()], sessions, jobs, keys };
}
