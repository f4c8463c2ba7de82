import { run } from './run.ts';

interface Flag {
  readonly flag: string;
  readonly value: string | null;
  readonly choices: readonly string[] | null;
  readonly description: string;
}

interface CommandHelp {
  readonly command: string;
  readonly usage: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly choices: readonly string[] | null }[];
  readonly flags: readonly Flag[];
  readonly scopes: readonly string[];
  readonly exit_codes: readonly { readonly code: number }[];
  readonly writes: boolean;
  readonly examples: readonly { readonly command: string }[];
}

interface Index {
  readonly commands: readonly { readonly command: string }[];
  readonly error_types: readonly string[];
  readonly global_flags: readonly Flag[];
  readonly topics: readonly { readonly name: string; readonly summary: string }[];
}

let help: ReturnType<typeof describeAll> | undefined;

/** The index of `help -o json`, and the description of each command. Read once for all files that one process tests. */
export function readHelp() {
  help ??= describeAll();
  return help;
}

async function describeAll() {
  const describe = (...words: readonly string[]) =>
    run(['help', ...words, '-o', 'json'], { env: { HOME: '/nowhere' } });
  const index = (await describe()).json<Index>();
  const commands: CommandHelp[] = [];
  for (const { command } of index.commands) commands.push((await describe(...command.split(' '))).json<CommandHelp>());
  return { ...index, commands };
}
