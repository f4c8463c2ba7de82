import type { Readable } from 'node:stream';
import type { Http } from '../api/http.ts';
import { parseAgentReference } from '../api/references.ts';
import { InputError, NotFoundError, UsageError, withHint } from '../errors.ts';
import { problemsError } from '../yaml/problem.ts';
import { readSources } from '../yaml/sources.ts';
import type { WantedJob } from './job.ts';
import { cronKey } from './job.ts';
import { AgentFinder } from './job-agent.ts';
import { parseJobFiles } from './job-file.ts';

/** Runs after the agent lookup, because two references can name one agent. @throws InputError if a job is described twice */
function refuseDuplicates(origin: string, wanted: readonly WantedJob[]): void {
  const places = new Map<string, string | undefined>();
  for (const { source, job } of wanted) {
    const key = cronKey(origin, job.agent_id, job.name);
    if (places.has(key)) {
      throw new InputError(`Job ${JSON.stringify(job.name)} of agent ${job.agent_id} is described twice.`, {
        why: `It is at ${places.get(key)} and at ${source}.`,
        hint: 'Nothing was sent. Give each job of an agent its own name.',
      });
    }
    places.set(key, source);
  }
}

/** What reading files of jobs needs. */
export interface JobFileContext {
  readonly io: { readonly stdin: Readable };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  http(): Promise<Http>;
}

/**
 * Reads the jobs in files, and checks all of them before anything is sent.
 * @throws InputError that shows every mistake with file, line, and column; NotFoundError if an agent is not found
 */
export async function readJobFiles(context: JobFileContext, files: readonly string[]): Promise<readonly WantedJob[]> {
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const { jobs, problems } = parseJobFiles(sources, (name) => context.env[name]);
  if (problems.length > 0) throw problemsError(problems);
  const http = await context.http();
  const finder = new AgentFinder(context, http);
  const wanted: WantedJob[] = [];
  for (const [index, { source, agent, space, name, instructions, schedule }] of jobs.entries()) {
    const agent_id = await finder.find({ agent: parseAgentReference(agent), space }).catch((error: unknown) => {
      const isMistake = error instanceof NotFoundError || error instanceof UsageError;
      if (!isMistake) throw error;
      const hint = `Job ${JSON.stringify(name)} at ${source} names it. Nothing was sent.`;
      throw withHint(error, { hint, details: { source } });
    });
    wanted.push({ index, source, job: { agent_id, name, instructions, schedule } });
  }
  refuseDuplicates(http.baseUrl, wanted);
  return wanted;
}
