import { readFile } from 'node:fs/promises';
import { InputError, LocalError } from '../errors.ts';
import type { FaultPlan, Sandbox, Script } from '../sandbox/sandbox.ts';
import type { Args, FlagSpec } from './command.ts';
import { describeFileError } from './input.ts';

/** The options of `sandbox start` and `sandbox run`. */
export interface SandboxInput {
  readonly dataDir: string | undefined;
  readonly faultsFile: string | undefined;
  readonly scriptFile: string | undefined;
  readonly port: number;
}

export const SANDBOX_FLAGS: readonly FlagSpec[] = [
  { usage: '--data <dir>', description: 'store the data in this directory', default: 'in memory' },
  {
    usage: '--faults <file>',
    description: 'a JSON file of faults to inject: {"rules":[{"kind":"status","status":503,"rate":0.1}]}',
  },
  {
    usage: '--script <file>',
    description: 'a YAML or JSON file that says how agents reply: [{"pattern":"hello","replies":[{"text":"Hi!"}]}]',
    default: 'an echo',
  },
];

export function parseSandboxOptions(args: Args): SandboxInput {
  return {
    dataDir: args.value('data'),
    faultsFile: args.value('faults'),
    scriptFile: args.value('script'),
    port: args.count('port', { min: 0, max: 65_535, fallback: 0 }),
  };
}

/**
 * Reads and parses a file that a flag names.
 * @throws InputError that describes the problem
 */
async function readOptionFile<T>(path: string, content: string, hint: string, parse: (text: string) => T): Promise<T> {
  try {
    return parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new InputError(`Cannot use the ${content} in ${path}.`, {
      why: describeFileError(error),
      hint,
      cause: error,
    });
  }
}

async function readFaults(path: string): Promise<FaultPlan> {
  const { parseFaultPlan } = await import('../sandbox/faults.ts');
  const hint = 'Write a plan such as {"rules":[{"kind":"status","status":503,"times":1}]}; see: partnerctl help faults';
  return readOptionFile(path, 'faults', hint, (text) => parseFaultPlan(JSON.parse(text)));
}

async function readScript(path: string): Promise<Script> {
  const { parseScript } = await import('../sandbox/agents/reply-script.ts');
  const hint =
    'Write a list of rules such as [{"pattern":"hello","replies":[{"text":"Hi!","delay_ms":500}]}]; see: partnerctl help sandbox';
  return readOptionFile(path, 'script', hint, parseScript);
}

/**
 * Starts a sandbox with the options from the flags.
 * @throws InputError for an unusable fault or script file, LocalError when the sandbox cannot start
 */
export async function startFromOptions({ dataDir, faultsFile, scriptFile, port }: SandboxInput): Promise<Sandbox> {
  const faults = faultsFile === undefined ? undefined : await readFaults(faultsFile);
  const script = scriptFile === undefined ? undefined : await readScript(scriptFile);
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  try {
    return await startSandbox({
      port,
      ...(dataDir !== undefined && { dataDir }),
      ...(faults && { faults }),
      ...(script && { script }),
    });
  } catch (error) {
    throw new LocalError('The sandbox cannot start.', {
      hint: 'Give another --port (or none, for a free one) or another --data directory.',
      why: error instanceof Error ? error.message : String(error),
      cause: error,
    });
  }
}
