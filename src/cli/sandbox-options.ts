import { readFile } from 'node:fs/promises';
import { InputError, LocalError } from '../errors.ts';
import type { FaultPlan, Sandbox, Script } from '../sandbox/sandbox.ts';
import type { Args, FlagSpec } from './command.ts';
import { describeFileError } from './input.ts';

/** What `sandbox start` and `sandbox run` have in common. */
export interface SandboxInput {
  readonly dataDir: string | undefined;
  readonly faultsFile: string | undefined;
  readonly scriptFile: string | undefined;
  readonly port: number;
}

export const SANDBOX_FLAGS: readonly FlagSpec[] = [
  { usage: '--data <dir>', description: 'keep the data in this directory', default: 'in memory' },
  {
    usage: '--faults <file>',
    description: 'a JSON file of faults to inject: {"rules":[{"kind":"status","status":503,"rate":0.1}]}',
  },
  {
    usage: '--script <file>',
    description: 'a YAML or JSON file of how agents answer: [{"pattern":"hello","replies":[{"text":"Hi!"}]}]',
    default: 'an echo',
  },
];

export function sandboxInput(words: Args): SandboxInput {
  return {
    dataDir: words.value('data'),
    faultsFile: words.value('faults'),
    scriptFile: words.value('script'),
    port: words.count('port', { min: 0, max: 65_535, fallback: 0 }),
  };
}

async function readFaults(path: string): Promise<FaultPlan> {
  const { parseFaultPlan } = await import('../sandbox/faults.ts');
  try {
    return parseFaultPlan(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw new InputError(`The faults in ${path} cannot be used.`, {
      why: describeFileError(error),
      hint: 'They look like {"rules":[{"kind":"status","status":503,"times":1}]}; the README lists the kinds.',
      cause: error,
    });
  }
}

async function readScript(path: string): Promise<Script> {
  const { parseScript } = await import('../sandbox/chat/script-text.ts');
  try {
    return parseScript(await readFile(path, 'utf8'));
  } catch (error) {
    throw new InputError(`The script in ${path} cannot be used.`, {
      why: describeFileError(error),
      hint: 'It is a list of rules: [{"pattern":"hello","replies":[{"text":"Hi!","delay_ms":500}]}]. The first that fits counts.',
      cause: error,
    });
  }
}

/**
 * Starts a sandbox as the flags say.
 * @throws InputError for a fault or script file that cannot be used, LocalError when the sandbox cannot start
 */
export async function startFor({ dataDir, faultsFile, scriptFile, port }: SandboxInput): Promise<Sandbox> {
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
