import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCompiler, type JsonSchema, type OutputShape } from '../support/declared-output.ts';
import { start, until } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { call as request } from '../support/service.ts';

/** The fields of `help -o json` that a program needs. */
interface Help {
  readonly without_account: readonly { readonly command: string }[];
  readonly global_flags: readonly Flag[];
  readonly commands: readonly Command[];
}

interface Command {
  readonly command: string;
  readonly writes: boolean;
  readonly arguments: readonly { readonly name: string; readonly field?: string }[];
  readonly flags: readonly Flag[];
  readonly inputs: readonly { readonly taken_by: string; readonly example: string }[];
  readonly output: OutputShape;
  readonly examples: readonly { readonly command: string }[];
}

interface Flag {
  readonly flag: string;
  readonly value: string | null;
  readonly choices: readonly string[] | null;
  readonly field?: string;
}

/** What a call must achieve: the fields of the result, and the status that means success. */
interface Goal {
  readonly field: string;
  readonly status?: string;
}

const compile = createCompiler();

/** The fields of a document: at its top, in the items of a list, and in the lists of those. */
function fieldsOf({ properties = {}, items }: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const lists = Object.values(properties).map((each) => each.items?.properties ?? {});
  return Object.assign({}, ...lists, items?.properties, properties);
}

function splitLine(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}

/** Yields each field of a JSON value that has text, the outer ones first. */
function* textsIn(value: unknown): Generator<readonly [string, string]> {
  if (typeof value !== 'object' || value === null) return;
  const entries = Object.entries(value);
  for (const [name, field] of entries) if (typeof field === 'string') yield [name, field];
  for (const [, field] of entries) yield* textsIn(field);
}

/** A program without a terminal that knows only the help for programs. */
class Agent {
  readonly directory = tempDirectory();
  readonly called: string[] = [];
  readonly known = new Map<string, string>();
  env: Record<string, string> = { HOME: this.directory };
  private help: Help | undefined;

  /** Starts the program. @returns stdout, after one line or at the end */
  private async run(args: readonly string[], waitFor: 'line' | 'end'): Promise<string> {
    this.called.push(args.join(' '));
    const child = start(args, { env: this.env, cwd: this.directory });
    if (waitFor === 'line') return await until(child.stdout, /\n/);
    const { stdout, stderr, exitCode } = await child;
    expect({ exitCode, stderr }, args.join(' ')).toEqual({ exitCode: 0, stderr: expect.not.stringContaining('error') });
    return stdout;
  }

  async readHelp(): Promise<Help> {
    this.help ??= JSON.parse(await this.run(['help', '-o', 'json'], 'end'));
    if (!this.help) throw new Error('There is no help.');
    return this.help;
  }

  /** Starts a separate service, and sets the variables that the fields of its output are for. */
  async startService(): Promise<void> {
    const { without_account, commands } = await this.readHelp();
    for (const { command: line } of without_account) {
      const args = splitLine(line).slice(1);
      const found = commands.find(({ command }) => args.join(' ').startsWith(`${command} `));
      const schema = found?.output.ndjson;
      if (!schema) continue;
      const told = JSON.parse(await this.run(args, 'line'));
      expect(compile(schema)(told)).toBe(true);
      for (const [name, { description = '' }] of Object.entries(schema.properties ?? {})) {
        const [, variable] = /^for ([A-Z_]+)$/.exec(description) ?? [];
        if (variable !== undefined && told[name] !== undefined) this.env = { ...this.env, [variable]: told[name] };
      }
      return;
    }
  }

  /** Finds the command that writes, and whose result has the field and the status of the goal. */
  private async find({ field, status }: Goal): Promise<Command> {
    const { commands } = await this.readHelp();
    const found = commands.find(({ writes, output: { json } }) => {
      const fields = json ? fieldsOf(json) : {};
      return writes && fields[field] && (status === undefined || fields.status?.enum?.includes(status));
    });
    if (!found) throw new Error(`No command has ${field}.`);
    return found;
  }

  /** Turns an example into a call: writes files, and replaces ids by those of earlier results. */
  private argsLike(line: string, { command, arguments: positionals, flags, inputs }: Command): readonly string[] {
    const args = splitLine(line).slice(1 + command.split(' ').length);
    let position = 0;
    return args.map((word, index) => {
      if (word.startsWith('-')) return word;
      const flag = flags.find((each) => each.flag === args[index - 1] && each.value !== null);
      const taker = flag ?? positionals[position];
      if (!flag) position += 1;
      const name = flag ? flag.flag : `<${positionals[position - 1]?.name}>`;
      const input = inputs.find(({ taken_by }) => taken_by === name);
      if (input) writeFileSync(join(this.directory, word), input.example);
      return this.known.get(taker?.field ?? '') ?? word;
    });
  }

  /** Reaches a goal by one call. @returns its result, which fits the schema of the help */
  async reach(goal: Goal): Promise<unknown> {
    const found = await this.find(goal);
    const [example] = found.examples;
    const { json } = found.output;
    if (!example || !json) throw new Error(`${found.command} has no example.`);
    const { global_flags } = await this.readHelp();
    const format = global_flags.find(({ choices }) => choices?.includes('json'));
    const [, more] = / with (--[\w-]+)/.exec(` ${fieldsOf(json)[goal.field]?.description}`) ?? [];
    const args = [
      ...found.command.split(' '),
      ...this.argsLike(example.command, found),
      ...(more === undefined ? [] : [more]),
      format?.flag ?? '',
      'json',
    ];
    const result: unknown = JSON.parse(await this.run(args, 'end'));
    expect(compile(json)(result)).toBe(true);
    for (const [name, text] of textsIn(result)) if (!this.known.has(name)) this.known.set(name, text);
    return result;
  }
}

test('a program that reads only the help as JSON gets a space, a reply, and a scheduled job in at most 12 calls', async () => {
  const agent = new Agent();
  await agent.startService();
  const space = await agent.reach({ field: 'space_id', status: 'created' });
  const sent = await agent.reach({ field: 'reply' });
  const job = await agent.reach({ field: 'cron_job_id', status: 'created' });

  expect(space).toMatchObject({ results: [{ status: 'created', agents: [{ source_id: expect.any(String) }] }] });
  expect(sent).toMatchObject({ created: true, reply: { text: expect.stringMatching(/\S/) } });
  expect(job).toMatchObject({ status: 'created', agent_id: agent.known.get('agent_id') });
  const { PARTNER_BASE_URL = '', PARTNER_TOKEN: token = '' } = agent.env;
  const read = async (path: string) => (await request('GET', `${PARTNER_BASE_URL}${path}`, { token })).json.results;
  expect(await read('/automation/spaces/')).toMatchObject([{ space_id: agent.known.get('space_id') }]);
  expect(await read('/automation/partner-cron-jobs/')).toMatchObject([{ cron_job_id: agent.known.get('cron_job_id') }]);
  expect(agent.called.length).toBeLessThanOrEqual(12);
});
